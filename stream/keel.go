package stream

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// KeelConfig describes a stream that is normalised after every site, and weighs more than what is
// added.
type KeelConfig struct {
	Vectors
	Alpha float64 `yaml:"alpha" default:"2 layers" from:"model.layers" help:"factor of the stream before a sublayer's output is added: by default the number of sites; 1 is post-norm as in the first transformers, with a norm before sublayers, too"`
}

// Name is "keel".
func (KeelConfig) Name() string { return "keel" }

// Card describes Keel.
func (KeelConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Keel",
		Equation: "h <- N_post(alpha h + F(Norm(h)));   logits = h W_U          alpha = 2 L",
		Source:   "Chen and Wei 2026, arXiv 2601.19895, as two public implementations have it",
		Use:      "Post-norm for very deep models: the stream is normalised after every site, and weighs alpha times as much as what is added, so that signals and gradients pass. The stream neither grows with depth, as with pre-norm, nor forgets what was written first, as with post-norm. There is no last norm; it costs one norm a site.",
	}
}

// Defaults changes nothing.
func (c KeelConfig) Defaults() Design { return c }

// alpha is the factor of h.
func (c KeelConfig) alpha() float64 { return orDefault(c.Alpha, float64(2*c.Layers)) }

// Check wants a factor that is a positive number.
func (c KeelConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if !(c.alpha() > 0 && c.alpha() <= math.MaxFloat32) {
		return layers.Setting("alpha", "want a positive number, got %g", c.Alpha)
	}
	return nil
}

// Shape is that of one vector a token.
func (c KeelConfig) Shape() Shape { return c.shape(c.D) }

// Cost has a norm more a site, and none at the end; sums are kept before their norm.
func (c KeelConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	return c.cost().Plus(c.Norm.Cost(d).Times(2 * blocks))
}

// New is newKeel.
func (c KeelConfig) New(b *graph.Builder) Stream { return newKeel(b, c) }

// keel is a post-norm stream of great weight (Chen and Wei 2026, arXiv 2601.19895),
//
//	h <- N_post(alpha h + F(Norm(h)))
//
// at every site, whose norm "blocks.3.attention.post" is of the model's kind. The last one makes the
// features. alpha is no parameter.
type keel struct {
	*Vector // without a final norm
	alpha   float64
	posts   []*layers.Norm // by Site.Index
}

// newKeel makes the parameters of a keel stream: those of a vector stream and a norm a site.
func newKeel(b *graph.Builder, c KeelConfig) *keel {
	k := &keel{Vector: newVector(b, c.Vectors), alpha: c.alpha()}
	for l := range c.Layers {
		for _, site := range k.Sites(l) {
			k.posts = append(k.posts, layers.NewNorm(b, site.Name()+".post", c.Norm, c.D))
		}
	}
	return k
}

// WriteHeads adds W_O o.
func (k *keel) WriteHeads(s State, at Site, _ Link, o *gorgonia.Node) State {
	return k.add(s, at, k.HeadsOutput(at, o))
}

// WriteFeatures adds y.
func (k *keel) WriteFeatures(s State, at Site, _ Link, y *gorgonia.Node) State {
	return k.add(s, at, y)
}

// add is N_post(alpha h + y); what the norm reads has the hook "blocks.3.attention.sum".
func (k *keel) add(s State, at Site, y *gorgonia.Node) State {
	y = k.b.Hook(at.Name()+".write", elementwise.Dropout(k.b, y, k.c.Dropout), "feature") // [T, D]
	sum := k.b.Add(elementwise.Scale(k.b, s.(VectorState).H, k.alpha), y)
	h := k.posts[at.Index].Apply(k.b.Hook(at.Name()+sumSuffix, sum, "feature"))
	return VectorState{k.b.Hook(at.Name()+".stream", h, "feature")}
}

// sumSuffix ends the hooks of what norms after a sum read.
const sumSuffix = ".sum"

// Features is the stream: the last site has normalised it.
func (k *keel) Features(s State) *gorgonia.Node { return s.(VectorState).H }

// Form has the norm's scale in both coefficients.
func (k *keel) Form(at Site) Form {
	f := plainForm(at, "Chen and Wei 2026, arXiv 2601.19895 (Keel)")
	scaled := func(by string) Coefficient {
		return Coefficient{Choice: Dependent, Diagonal: true, Rows: 1, Columns: 1, Axes: "1 x 1", Parameters: nodeNames(k.posts[at.Index].Gain()),
			Start: Start{Text: by + "/std(alpha h + F)"}}
	}
	f.Res, f.Up = scaled(fmt.Sprintf("%g", k.alpha)), scaled("1")
	return f
}

// FreezeHooks are what the norms after sites read.
func (k *keel) FreezeHooks() []string {
	var names []string
	for l := range k.c.Layers {
		for _, site := range k.Sites(l) {
			names = append(names, site.Name()+sumSuffix)
		}
	}
	return names
}

// Freeze carries h by alpha and by each site's norm, at the scale of the run.
func (k *keel) Freeze(r Record) (*Frozen, error) {
	sums, err := recorded(r, k.FreezeHooks())
	if err != nil {
		return nil, err
	}
	return k.freeze(r, sums), nil
}

// Static has norms at scale 1 / alpha, which leave what is carried as large as it is.
func (k *keel) Static() *Frozen { return k.freeze(nil, nil) }

func (k *keel) freeze(r Record, sums map[string][]float64) *Frozen {
	d, carried, added := k.c.D, k.alpha, 1.
	one := linear.Identity(d)
	f := NewFrozen(r, d)
	f.writeTables(k.tables, one)
	if sums == nil {
		carried, added = 1, 1/k.alpha
	}
	for l := range k.c.Layers {
		for _, site := range k.Sites(l) {
			f.Read(site.Name(), one, k.after(site))
			f.Step(linear.Rows(d, []float64{carried}))
			f.Write(site.Name(), linear.Rows(d, []float64{added}))
			norm, bias := freezeNorm(k.b, k.posts[site.Index], sums[site.Name()+sumSuffix])
			f.Step(norm)
			f.Add(bias)
		}
	}
	f.ReadOut(one, func([]float64) (linear.Chain, []float64) { return nil, nil })
	return f
}

package stream

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// KeelConfig describes a stream that is normalised after every site, with a larger weight on the
// stream than on what is added.
type KeelConfig struct {
	Vectors
	Alpha float64 `yaml:"alpha" default:"2 layers" from:"model.layers"`
}

// Help returns the help texts that are too long for tags, by key.
func (KeelConfig) Help() map[string]string {
	return map[string]string{
		"alpha": "factor of the stream before a sublayer's output is added: by default the number of sites; 1 is post-norm as in the " +
			"first transformers, with a norm before sublayers, too",
	}
}

// Name returns "keel".
func (KeelConfig) Name() string { return "keel" }

// Card describes Keel.
func (KeelConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Keel",
		Equation: "h <- N_post(alpha h + F(Norm(h)));   logits = h W_U          alpha = 2 L",
		Source:   "Chen and Wei 2026, arXiv 2601.19895, as two public implementations have it",
		Use: "Post-norm for very deep models: the stream is normalised after every site, and weighs alpha times as much as what is added, so that " +
			"signals and gradients pass. The stream neither grows with depth, as with pre-norm, nor forgets what was written first, as with post-norm. There " +
			"is no last norm; it costs one norm a site.",
	}
}

// alpha returns the factor of h.
func (c KeelConfig) alpha() float64 { return orDefault(c.Alpha, float64(2*c.Layers)) }

// Check returns an error unless the factor is a positive number.
func (c KeelConfig) Check() error {
	return cmp.Or(c.Vectors.Check(), layers.CheckPositive("alpha", c.alpha()))
}

// Cost counts an additional norm for each site, and none at the end; sums are kept before their
// norm.
func (c KeelConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	return c.sitesCost().Plus(c.Norm.Cost(d).Times(2 * blocks))
}

// New makes the parameters of a keel stream: those of a vector stream and a norm for each site.
func (c KeelConfig) New(b *graph.Builder) Stream {
	k := &keel{Vector: startVector(b, c.Vectors), alpha: c.alpha()}
	k.addBlocks()
	for _, at := range c.AllSites() {
		k.posts = append(k.posts, layers.NewNorm(b, at.Name()+".post", c.Norm, c.D))
	}
	k.Use(k)
	return k
}

// keel is a post-norm stream in which the stream has a large weight (Chen and Wei 2026, arXiv
// 2601.19895),
//
//	h <- N_post(alpha h + F(Norm(h)))
//
// at every site; the norm "blocks.3.attention.post" is of the model's kind. The last norm's output
// is the features. alpha is a constant, not a parameter.
type keel struct {
	*Vector // without a final norm
	alpha   float64
	posts   []*layers.Norm // by Site.Index
}

// Write computes N_post(alpha h + y); the norm's input has the hook "blocks.3.attention.sum".
func (k *keel) Write(s State, at Site, _ Reading, y *gorgonia.Node) State {
	y = k.Written(at, y)
	sum := k.Hook(at, sumSuffix, k.b.Add(elementwise.Scale(k.b, s.(VectorState).H, k.alpha), y))
	return VectorState{H: k.Hook(at, ".stream", k.posts[at.Index].Apply(sum))}
}

// sumSuffix is the end of the names of hooks of sums before a norm.
const sumSuffix = ".sum"

// Form describes coefficients that both include the norm's scale.
func (k *keel) Form(at Site) Form {
	f, gain := plainForm(at, "Chen and Wei 2026, arXiv 2601.19895 (Keel)"), k.posts[at.Index].Gain()
	f.Res = Dependent.diagonal(1, 1, "1 x 1", Start{Text: fmt.Sprintf("%g/std(alpha h + F)", k.alpha)}, gain)
	f.Up = Dependent.diagonal(1, 1, "1 x 1", Start{Text: "1/std(alpha h + F)"}, gain)
	return f
}

// Carry multiplies h by alpha and applies each site's norm at the scale of the run. Without a run
// norms have the scale 1 / alpha, which keeps the size of what is carried.
func (k *keel) Carry(f *Frozen) {
	d, carried, added := k.c.D, k.alpha, 1.
	if f.record == nil {
		carried, added = 1, 1/k.alpha
	}
	one := linear.Identity(d)
	k.CarrySites(f, one, func(at Site) {
		f.Read(at.Name(), one, k.After(at))
		f.Step(linear.Rows(d, []float64{carried}))
		f.Write(at.Name(), linear.Rows(d, []float64{added}))
		k.CarryNorm(f, k.posts[at.Index], at.Name()+sumSuffix)
	})
	k.CarryEnd(f, one)
}

package stream

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// SiameseConfig describes a stream of two vectors, one normalised after each site and one before.
type SiameseConfig struct{ Vectors }

// Name returns "siamese".
func (SiameseConfig) Name() string { return "siamese" }

// Card describes SiameseNorm.
func (SiameseConfig) Card() layers.Card {
	return layers.Card{
		Title: "SiameseNorm",
		Equation: "x <- N_post(x);   z = F(x + N_pre(y));   x <- x + z / sqrt(2(l + 1));   y <- y + z\n" +
			"logits = Norm(N_post(x) + N_pre(y)) W_U          x = y = embedding at first, l counts blocks from 0",
		Source: "Li et al. 2026, ICML, arXiv 2602.08064",
		Use: "Each sublayer's output goes into two streams: one is normalised before every site, as post-norm does, the other never, as pre-norm does. " +
			"Sites read their sum, so that deep layers count and gradients still pass. It costs two norms a site, 0.02% more parameters, and a second vector a token.",
	}
}

// Shape returns the shape of a stream of one vector for each token; it keeps y as a second vector.
func (c SiameseConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = 2 * c.D
	return s
}

// Cost counts two more norms before each site and at the end, which keep their inputs, x and y; at
// first these are the same.
func (c SiameseConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	coupled := c.Norm.Cost(d).Times(2 * (2*blocks + 1))
	coupled.Activations -= d
	return c.Vectors.Cost().Plus(coupled)
}

// New makes the parameters of two coupled streams: those of a vector stream and the norms.
func (c SiameseConfig) New(b *graph.Builder) Stream {
	s := &siamese{Vector: newVector(b, c.Vectors)}
	for _, at := range c.AllSites() {
		s.add(at.Name()+".siamese", at.Name()+".read")
	}
	s.add("siamese", "siamese.read")
	s.Use(s)
	return s
}

// siamese is SiameseNorm (Li et al. 2026, arXiv 2602.08064, in the form of its authors' code for
// vision): a stream x that is normalised before every site and carried normalised, and a stream y
// that is never normalised. A site of block l, counted from 0, reads both and writes to both,
//
//	x <- N_post(x);   z = F(x + N_pre(y));   x <- x + z / sqrt(2(l + 1));   y <- y + z
//
// where F begins with the norm that every stream has there. x and y start as the embedding, and the
// last norm reads N_post(x) + N_pre(y). Each site and the end have their own norms, of the model's
// kind: "blocks.3.attention.siamese.post" and ".pre", and "siamese.post" and ".pre". The state's H
// is y, and its More is x.
type siamese struct {
	*Vector
	couplings []coupling // by Site.Index; the one at the end is last
}

// coupling holds the norms by which a site reads both streams.
type coupling struct {
	name, read string // "blocks.3.attention.siamese", and the hook of what is read, "blocks.3.attention.read"; "siamese", "siamese.read"
	post, pre  *layers.Norm
}

func (s *siamese) add(name, read string) {
	norm := func(end string) *layers.Norm { return layers.NewNorm(s.b, name+end, s.c.Norm, s.c.D) }
	s.couplings = append(s.couplings, coupling{name, read, norm(".post"), norm(".pre")})
}

// end returns the coupling at the end.
func (s *siamese) end() coupling { return s.couplings[len(s.couplings)-1] }

// The ends of the names of hooks of what a coupling's norms read.
const (
	postInput = ".x"
	preInput  = ".y"
)

// Embed returns the embedding as x and y.
func (s *siamese) Embed(t Tokens) State {
	h := s.embed(t) // [T, D]
	return VectorState{h, gorgonia.Nodes{h}}
}

// couple applies a coupling to both streams: it returns x + N_pre(y), and x = N_post(x).
func (s *siamese) couple(state State, c coupling) (u, x *gorgonia.Node) {
	of := state.(VectorState)
	x = c.post.Forward(s.b.Hook(c.name+postInput, of.More[0], "feature"))
	y := c.pre.Forward(s.b.Hook(c.name+preInput, of.H, "feature"))
	return s.b.Hook(c.read, s.b.Add(x, y), "feature"), x
}

// Read couples both streams; the link is x.
func (s *siamese) Read(state State, at Site) (*gorgonia.Node, Link) {
	return s.couple(state, s.couplings[at.Index])
}

// Write adds z [T, D] to y and, divided by the site's divisor, to x.
func (s *siamese) Write(state State, at Site, from Reading, z *gorgonia.Node) State {
	z = s.Written(at, z)
	x := s.b.Add(from.Link.(*gorgonia.Node), elementwise.Scale(s.b, z, siameseFactor(at)))
	return VectorState{s.Hook(at, ".stream", s.b.Add(state.(VectorState).H, z)), gorgonia.Nodes{x}}
}

// siameseFactor returns 1 / sqrt(2(l + 1)), the factor of z in x.
func siameseFactor(at Site) float64 { return 1 / math.Sqrt(2*float64(at.Block+1)) }

// End couples both streams.
func (s *siamese) End(state State) *gorgonia.Node {
	u, _ := s.couple(state, s.end())
	return u
}

// Form describes x and y as rows: x is carried, and both are read, through norms.
func (s *siamese) Form(at Site) Form {
	c, factor := s.couplings[at.Index], siameseFactor(at)
	f := plainForm(at, "Li et al. 2026, arXiv 2602.08064 (SiameseNorm)")
	f.Res = Dependent.diagonal(2, 2, "2 x 2", Start{Text: "1/std(x) at x, 1 at y"}, c.post.Gain())
	f.Down = Dependent.diagonal(1, 2, "1 x 2", Start{Text: "1/std(x) at x, 1/std(y) at y"}, c.post.Gain(), c.pre.Gain())
	f.Up = Fixed.coefficient(2, 1, "2 x 1", Start{fmt.Sprintf("%.3g at x, 1 at y", factor), []float64{factor, 1}})
	return f
}

// Output names what the last norm reads.
func (s *siamese) Output() string { return s.end().read }

// Carry carries x, y and N_pre(y), one below the other. Before a site, its norms at the scales of
// the run compute new x and N_pre(y), whose sum the site reads; its output is added, divided, to x,
// and to y.
func (s *siamese) Carry(f *Frozen) {
	of := func(coefficients ...float64) linear.Map { return linear.Rows(s.c.D, coefficients) }
	s.CarrySites(f, linear.Transposed{Of: of(1, 1, 0)}, func(at Site) {
		s.carryCoupling(f, s.couplings[at.Index])
		s.carryThrough(f, at, of(1, 0, 1), linear.Transposed{Of: of(siameseFactor(at), 1, 0)})
	})
	s.carryCoupling(f, s.end())
	s.CarryEnd(f, of(1, 0, 1))
}

// carryCoupling adds the step from x, y and an old N_pre(y) to N_post(x), y and N_pre(y).
func (s *siamese) carryCoupling(f *Frozen, c coupling) {
	d := s.c.D
	post, postBias := s.normOf(f, c.post, c.name+postInput)
	pre, preBias := s.normOf(f, c.pre, c.name+preInput)
	x, y := linear.Row(3, 0, d), linear.Row(3, 1, d)
	f.Step(linear.Stack{linear.Chain{x, post}, y, linear.Chain{y, pre}})
	if postBias != nil {
		f.Add(slices.Concat(postBias, make([]float64, d), preBias))
	}
}

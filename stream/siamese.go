package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
)

// SiameseConfig describes a stream of two vectors, one normalised after each site and one before.
type SiameseConfig struct{ Vectors }

// Name is "siamese".
func (SiameseConfig) Name() string { return "siamese" }

// Card describes SiameseNorm.
func (SiameseConfig) Card() layers.Card {
	return layers.Card{
		Title: "SiameseNorm",
		Equation: "x <- N_post(x);   z = F(x + N_pre(y));   x <- x + z / sqrt(2(l + 1));   y <- y + z\n" +
			"logits = Norm(N_post(x) + N_pre(y)) W_U          x = y = embedding at first, l counts blocks from 0",
		Source: "Li et al. 2026, ICML, arXiv 2602.08064",
		Use:    "Each sublayer's output goes into two streams: one is normalised before every site, as post-norm does, the other never, as pre-norm does. Sites read their sum, so that deep layers count and gradients still pass. It costs two norms a site, 0.02% more parameters, and a second vector a token.",
	}
}

// Defaults changes nothing.
func (c SiameseConfig) Defaults() Design { return c }

// Check wants sizes that fit together.
func (c SiameseConfig) Check() error { return c.check() }

// Shape is that of one vector a token; y is a second state.
func (c SiameseConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = 2 * c.D
	return s
}

// Cost has two norms more before each site and at the end, which keep what they normalise, x and y:
// at first the same.
func (c SiameseConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	coupled := c.Norm.Cost(d).Times(2 * (2*blocks + 1))
	coupled.Activations -= d
	return c.cost().Plus(c.lastNormCost()).Plus(coupled)
}

// New is newSiamese.
func (c SiameseConfig) New(b *graph.Builder) Stream { return newSiamese(b, c) }

// siamese is SiameseNorm (Li et al. 2026, arXiv 2602.08064, in the form of its authors' code for
// vision): a stream x that is normalised, and carried so, before every site, and a stream y that
// never is. A site of block l, counted from 0, reads both and writes to both,
//
//	x <- N_post(x);   z = F(x + N_pre(y));   x <- x + z / sqrt(2(l + 1));   y <- y + z
//
// where F begins with the norm that every stream has there. x and y begin as the embedding, and the
// last norm reads N_post(x) + N_pre(y). Each site, and the end, has norms of its own, of the model's
// kind: "blocks.3.attention.siamese.post" and ".pre", and "siamese.post" and ".pre".
type siamese struct {
	*Vector
	couplings []coupling // by Site.Index, that of the end last
}

// coupling are the norms by which a site reads both streams.
type coupling struct {
	name, read string // "blocks.3.attention.siamese", and of what is read "blocks.3.attention.read"; "siamese", "siamese.read"
	post, pre  *layers.Norm
}

// siameseState is the stream, x and y [T, D] each.
type siameseState struct{ X, Y *gorgonia.Node }

// Nodes returns x and y.
func (s siameseState) Nodes() gorgonia.Nodes { return gorgonia.Nodes{s.X, s.Y} }

// siameseLink is x [T, D] as a site has normalised it.
type siameseLink struct{ X *gorgonia.Node }

// newSiamese makes the parameters of two coupled streams: those of a vector stream and the norms.
func newSiamese(b *graph.Builder, c SiameseConfig) *siamese {
	s := &siamese{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors})}
	for l := range c.Layers {
		for _, site := range s.Sites(l) {
			s.couplings = append(s.couplings, newCoupling(b, c.Vectors, site.Name()+".siamese", site.Name()+".read"))
		}
	}
	s.couplings = append(s.couplings, newCoupling(b, c.Vectors, "siamese", "siamese.read"))
	return s
}

func newCoupling(b *graph.Builder, c Vectors, name, read string) coupling {
	return coupling{name, read, layers.NewNorm(b, name+".post", c.Norm, c.D), layers.NewNorm(b, name+".pre", c.Norm, c.D)}
}

// The ends of the hooks of what a coupling's norms read.
const (
	postInput = ".x"
	preInput  = ".y"
)

// Embed is x and y.
func (s *siamese) Embed(t Tokens) State {
	h := s.embed(t) // [T, D]
	return siameseState{h, h}
}

// read is what coupling number i makes of both streams, x + N_pre(y), and x = N_post(x).
func (s *siamese) read(state State, i int) (VectorState, siameseLink) {
	c, of := s.couplings[i], state.(siameseState)
	x := c.post.Forward(s.b.Hook(c.name+postInput, of.X, "feature"))
	y := c.pre.Forward(s.b.Hook(c.name+preInput, of.Y, "feature"))
	return VectorState{s.b.Hook(c.read, s.b.Add(x, y), "feature")}, siameseLink{x}
}

// ReadHeads is the vector stream's, of what is read.
func (s *siamese) ReadHeads(state State, at Site) (*gorgonia.Node, Link) {
	u, link := s.read(state, at.Index)
	qkv, _ := s.Vector.ReadHeads(u, at)
	return qkv, link
}

// WriteHeads adds W_O o to both streams.
func (s *siamese) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	return s.write(state, at, link, s.HeadsOutput(at, o))
}

// ReadFeatures is the vector stream's, of what is read.
func (s *siamese) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	u, link := s.read(state, at.Index)
	features, _ := s.Vector.ReadFeatures(u, at)
	return features, link
}

// WriteFeatures adds z to both streams.
func (s *siamese) WriteFeatures(state State, at Site, link Link, z *gorgonia.Node) State {
	return s.write(state, at, link, z)
}

// write adds z [T, D] to y, and over the site's divisor to x.
func (s *siamese) write(state State, at Site, link Link, z *gorgonia.Node) State {
	z = s.b.Hook(at.Name()+".write", elementwise.Dropout(s.b, z, s.c.Dropout), "feature")
	return siameseState{
		X: s.b.Add(link.(siameseLink).X, elementwise.Scale(s.b, z, siameseFactor(at))),
		Y: s.b.Hook(at.Name()+".stream", s.b.Add(state.(siameseState).Y, z), "feature"),
	}
}

// siameseFactor is 1 / sqrt(2(l + 1)), by which z enters x.
func siameseFactor(at Site) float64 { return 1 / math.Sqrt(2*float64(at.Block+1)) }

// Features is the last norm of what the end reads.
func (s *siamese) Features(state State) *gorgonia.Node {
	u, _ := s.read(state, len(s.couplings)-1)
	return s.Vector.Features(u)
}

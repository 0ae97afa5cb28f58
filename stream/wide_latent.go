package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// latentCost counts the norms and maps of each site; a sublayer's output is kept for the map up.
func (c WideConfig) latentCost() layers.Cost {
	d, _, blocks := c.counts()
	w := float64(c.Width)
	norm := layers.NormConfig{} // with only a gain
	site := norm.Cost(w).Plus(norm.Cost(d), layers.LinearCost(w, d, false), layers.LinearCost(d, w, false), layers.ActivationCost(w+2*d))
	return c.tablesCost(w).Plus(c.headsCost().Plus(site.Times(2)).Times(blocks), c.Norm.Cost(w))
}

// wideLatent is marin's wide residual: a vector stream x [W] that sublayers read and write through
// a latent of D entries,
//
//	u = RMSNorm(Norm(x) W_down);   x <- x + F(u) W_up;   features = Norm(x)
//
// with tables and an unembedding as wide as the stream. F has no other norm, and there is none
// after W_up. The norm before W_down has no bias. All maps start like hidden weights.
//
// Parameters of a site: "wide.norm" [W], "wide.down" [W, D], "norm" [D], "wide.up" [D, W].
type wideLatent struct {
	*Vector // with blocks without norms, and tables of W entries
	w       int
	latents []latentSite // by Site.Index
}

// latentSite holds a site's maps to the latent and back.
type latentSite struct {
	outer, inner *layers.Norm
	down, up     *gorgonia.Node
}

// newWideLatent makes the parameters of a wide residual with latents.
func newWideLatent(b *graph.Builder, c WideConfig) *wideLatent {
	wide := c.Vectors
	wide.D = c.Width
	s := &wideLatent{Vector: startVector(b, wide), w: c.Width}
	s.c = c.Vectors
	for l := range c.Layers {
		for _, at := range s.Sites(l) {
			name := at.Name()
			s.latents = append(s.latents, latentSite{
				outer: layers.NewNorm(b, name+".wide.norm", layers.NormConfig{RMS: c.Norm.RMS, Eps: c.Norm.Eps}, c.Width),
				inner: layers.NewNorm(b, name+".norm", layers.NormConfig{RMS: true, Eps: c.Norm.Eps}, c.D),
				down:  s.weight(name+".wide.down", c.Width, c.D),
				up:    s.weight(name+".wide.up", c.D, c.Width),
			})
		}
		s.addBlock(l, false, c.Init.Hidden)
	}
	s.norm = layers.NewNorm(b, "norm", c.Norm, c.Width)
	s.Use(s)
	return s
}

// Read returns the latent [T, D].
func (s *wideLatent) Read(state State, at Site) (*gorgonia.Node, Link) {
	site := s.latents[at.Index]
	return site.inner.Forward(mapped(s.b, site.outer.Forward(state.(VectorState).H), site.down, nil)), nil
}

// Write adds y W_up.
func (s *wideLatent) Write(state State, at Site, _ Reading, y *gorgonia.Node) State {
	return s.Add(state, at, mapped(s.b, y, s.latents[at.Index].up, nil)) // [T, W]
}

// Form describes h' = h + F(h), where F includes the maps.
func (s *wideLatent) Form(at Site) Form {
	f, site := plainForm(at, "marin, pull request 9295"), s.latents[at.Index]
	f.Beyond = []Term{{"F(h) is narrower than h: it begins with Norm and a map down, and ends with a map up",
		nodeNames(site.outer.Gain(), site.down, site.inner.Gain(), site.up)}}
	return f
}

// Carry carries what each site writes, after its map up, unchanged to the end.
func (s *wideLatent) Carry(f *Frozen) {
	one := linear.Identity(s.w)
	s.CarrySites(f, one, func(at Site) {
		f.Read(at.Name(), one, s.afterLatent(at))
		f.Write(at.Name(), s.matrix(s.latents[at.Index].up))
	})
	s.readOut(f, one)
}

// afterLatent freezes a site's two norms, the second at its input, the map down of x [T, W], and
// for attention appends W_QKV.
func (s *wideLatent) afterLatent(at Site) After {
	site := s.latents[at.Index]
	return func(x []float64) (linear.Chain, []float64) {
		outer, _ := freezeNorm(s.b, site.outer, x)
		chain := linear.Chain{outer, s.matrix(site.down)}
		inner, _ := freezeNorm(s.b, site.inner, chain.ApplyAll(x))
		if chain = append(chain, inner); at.Sublayer == Attention {
			chain = append(chain, s.matrix(s.attention[at.Block].qkv))
		}
		return chain, nil
	}
}

package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
	maps "github.com/residua-go/residua/stream/linear"
)

// latentCost has the norms and maps of each site; a sublayer's output is kept for the map up.
func (c WideConfig) latentCost() layers.Cost {
	d, _, blocks := c.counts()
	w := float64(c.Width)
	norm := layers.NormConfig{} // of one gain alone
	site := norm.Cost(w).Plus(norm.Cost(d)).Plus(layers.LinearCost(w, d, false)).Plus(layers.LinearCost(d, w, false)).Plus(layers.ActivationCost(w + 2*d))
	return c.tablesCost(w).Plus(c.headsCost().Plus(site.Times(2)).Times(blocks)).Plus(c.Norm.Cost(w))
}

// wideLatent is marin's wide residual: a vector stream x [W] of which sublayers read and write a
// latent of D entries,
//
//	u = RMSNorm(Norm(x) W_down);   x <- x + F(u) W_up;   features = Norm(x)
//
// with tables and an unembedding as wide as the stream. F has no further norm, and W_up none after it. The
// norm in front of W_down has no bias. All maps start as hidden weights do.
//
// Parameters of a site: "wide.norm" [W], "wide.down" [W, D], "norm" [D], "wide.up" [D, W].
type wideLatent struct {
	tables
	c         WideConfig
	attention []heads
	sites     []latentSite // by Site.Index
	norm      *layers.Norm
}

// latentSite is a site's way into the latent and out of it.
type latentSite struct {
	outer, inner *layers.Norm
	down, up     *gorgonia.Node
}

// newWideLatent makes the parameters of a wide residual with latents.
func newWideLatent(b *graph.Builder, c WideConfig) *wideLatent {
	wide := c.Vectors
	wide.D = c.Width
	s := &wideLatent{tables: newTables(b, wide), c: c}
	for l := range c.Layers {
		sites := twoSites(l)
		for _, site := range sites {
			name := site.Name()
			s.sites = append(s.sites, latentSite{
				outer: layers.NewNorm(b, name+".wide.norm", layers.NormConfig{RMS: c.Norm.RMS, Eps: c.Norm.Eps}, c.Width),
				inner: layers.NewNorm(b, name+".norm", layers.NormConfig{RMS: true, Eps: c.Norm.Eps}, c.D),
				down:  b.Param(c.Init.Hidden(name+".wide.down", c.Width, c.WidthRatio, c.Width, c.D)),
				up:    b.Param(c.Init.Hidden(name+".wide.up", c.D, c.WidthRatio, c.D, c.Width)),
			})
		}
		s.attention = append(s.attention, newBareHeads(b, c.Vectors, sites[0].Name(), c.Init.Hidden))
	}
	s.norm = layers.NewNorm(b, "norm", c.Norm, c.Width)
	return s
}

// Embed looks the tokens up and adds their positions: [T, W].
func (s *wideLatent) Embed(t Tokens) State { return VectorState{s.embed(t)} }

// Sites are attention and feed-forward.
func (s *wideLatent) Sites(block int) []Site { return twoSites(block) }

// ReadHeads reads the latent, then W_QKV.
func (s *wideLatent) ReadHeads(state State, at Site) (*gorgonia.Node, Link) {
	u, link := s.ReadFeatures(state, at)
	return s.attention[at.Block].read(u), link // [T, 3W]
}

// WriteHeads writes W_O o.
func (s *wideLatent) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	return s.WriteFeatures(state, at, link, s.attention[at.Block].write(o))
}

// ReadFeatures reads the latent [T, D].
func (s *wideLatent) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	site := s.sites[at.Index]
	return site.inner.Forward(linear.Map(s.b, site.outer.Forward(state.(VectorState).H), site.down, linear.Options{})), nil
}

// WriteFeatures adds y W_up.
func (s *wideLatent) WriteFeatures(state State, at Site, _ Link, y *gorgonia.Node) State {
	y = elementwise.Dropout(s.b, linear.Map(s.b, y, s.sites[at.Index].up, linear.Options{}), s.c.Dropout) // [T, W]
	y = s.b.Hook(at.Name()+".write", y, "feature")
	return VectorState{s.b.Hook(at.Name()+".stream", s.b.Add(state.(VectorState).H, y), "feature")}
}

// EndBlock does nothing.
func (s *wideLatent) EndBlock(state State, _ int) State { return state }

// Features is the final norm [T, W].
func (s *wideLatent) Features(state State) *gorgonia.Node {
	return s.norm.Forward(state.(VectorState).H)
}

// Form is h' = h + F(h), where F has the maps.
func (s *wideLatent) Form(at Site) Form {
	f, site := plainForm(at, "marin, pull request 9295"), s.sites[at.Index]
	f.Beyond = []Term{{Text: "F(h) is narrower than h: it begins with Norm and a map down, and ends with a map up",
		Parameters: nodeNames(site.outer.Gain(), site.down, site.inner.Gain(), site.up)}}
	return f
}

// Writers are the tables and the heads.
func (s *wideLatent) Writers() []Writer {
	writers := s.tables.writers()
	for l := range s.attention {
		writers = append(writers, s.attention[l].writer(twoSites(l)[0]))
	}
	return writers
}

// Output is the stream after the last feed-forward.
func (s *wideLatent) Output() string { return lastSite(s.c.Layers).Name() + ".stream" }

// FreezeHooks is nothing: what is written is carried as it is.
func (s *wideLatent) FreezeHooks() []string { return nil }

// Static is Freeze: nothing depends on a run.
func (s *wideLatent) Static() *Frozen { return s.freeze(nil) }

// Freeze is the identity from every site, after its map up, to the end.
func (s *wideLatent) Freeze(r Record) (*Frozen, error) { return s.freeze(r), nil }

func (s *wideLatent) freeze(r Record) *Frozen {
	d, w := s.c.D, s.c.Width
	one, f := maps.Identity(w), NewFrozen(r, w)
	f.writeTables(s.tables, one)
	for l := range s.c.Layers {
		for _, site := range twoSites(l) {
			up := maps.Matrix{W: values(s.b, s.sites[site.Index].up.Name()), In: d, Out: w}
			f.vectorSite(site, one, up, s.after(site))
		}
	}
	f.ReadOut(one, thenNorm(s.b, s.norm))
	return f
}

// after freezes a site's norms, the second at what the map down makes of x [T, W], and has W_QKV.
func (s *wideLatent) after(site Site) After {
	at := s.sites[site.Index]
	return func(x []float64) (maps.Chain, []float64) {
		outer, _ := freezeNorm(s.b, at.outer, x)
		chain := maps.Chain{outer, maps.Matrix{W: values(s.b, at.down.Name()), In: s.c.Width, Out: s.c.D}}
		inner, _ := freezeNorm(s.b, at.inner, chain.ApplyAll(x))
		if chain = append(chain, inner); site.Sublayer == Attention {
			last, _ := s.attention[site.Block].after(nil)
			chain = append(chain, last...)
		}
		return chain, nil
	}
}

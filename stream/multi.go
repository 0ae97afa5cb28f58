package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// multi is what all streams of n rows of d entries a token share. At every site
//
//	u = A_down^T H;   H <- B_up^T F(u) + A_carry^T H
//
// where A_down [n, m], A_carry [n, n] and B_up [m, n] are the site's coefficients, packed
// as mix.Read wants them, and u is m rows side by side, D = m*d. The streams differ
// in where the coefficients come from, and in how the rows come about and end.
type multi struct {
	b         *graph.Builder
	c         Vectors
	m         int
	attention []heads
	features  []*layers.Norm
	mixers    []mixer // by Site.Index
}

// mixCost is that of a site's mixing, which keeps the stream of size entries, what is read
// and what is written.
func (c Vectors) mixCost(p packing, size float64) layers.Cost {
	n, m := float64(p.n), float64(p.m)
	return layers.Cost{FLOPs: 2*m*size + 2*(n+m)*size, Activations: size + 2*float64(c.D)}
}

// multiCost is that of a multi and of the last norm: of a stream of size entries whose
// coefficients cost that at each site.
func (c Vectors) multiCost(p packing, size float64, coefficients layers.Cost) layers.Cost {
	return c.sublayersCost().Plus(c.mixCost(p, size).Plus(coefficients).Times(2)).Times(float64(c.Layers)).Plus(c.lastNormCost())
}

// mixer makes a site's coefficients: [n, 2m+n], or one for each token, [T, n, 2m+n].
type mixer interface {
	coefficients(h *gorgonia.Node) *gorgonia.Node
}

// multiState is a stream of several rows a token: H [T, n, d].
type multiState struct{ H *gorgonia.Node }

// Nodes returns H.
func (s multiState) Nodes() gorgonia.Nodes { return gorgonia.Nodes{s.H} }

// multiLink are the coefficients of a site.
type multiLink struct{ Coefficients *gorgonia.Node }

// newMulti makes the parameters of the sublayers' ways in and out; newMixer makes a
// site's.
func newMulti(b *graph.Builder, c Vectors, m int, newMixer func(at Site) mixer) multi {
	s := multi{b: b, c: c, m: m}
	for l := range c.Layers {
		sites := twoSites(l)
		for _, site := range sites {
			s.mixers = append(s.mixers, newMixer(site))
		}
		s.attention = append(s.attention, newHeads(b, c, sites[0].Name()))
		s.features = append(s.features, layers.NewNorm(b, sites[1].Name()+".norm", c.Norm, c.D))
	}
	return s
}

// Sites are attention and feed-forward.
func (s *multi) Sites(block int) []Site { return twoSites(block) }

// read mixes the rows into what a sublayer works on.
func (s *multi) read(h *gorgonia.Node, at Site) (*gorgonia.Node, Link) {
	c := s.b.Hook(at.Name()+".coefficients", s.mixers[at.Index].coefficients(h), "row", "coefficient")
	return s.b.Hook(at.Name()+".read", mix.Read(s.b, h, c, s.m), "feature"), multiLink{c} // [T, D]
}

// ReadHeads mixes the rows, then Norm and W_QKV.
func (s *multi) ReadHeads(state State, at Site) (*gorgonia.Node, Link) {
	u, link := s.read(state.(multiState).H, at)
	a := s.attention[at.Block]
	return a.read(a.norm.Forward(u)), link // [T, 3W]
}

// WriteHeads writes W_O o to the rows and mixes them.
func (s *multi) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	return s.write(state, at, link, s.attention[at.Block].write(o))
}

// ReadFeatures mixes the rows, then Norm.
func (s *multi) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	u, link := s.read(state.(multiState).H, at)
	return s.features[at.Block].Forward(u), link // [T, D]
}

// WriteFeatures writes y to the rows and mixes them.
func (s *multi) WriteFeatures(state State, at Site, link Link, y *gorgonia.Node) State {
	return s.write(state, at, link, y)
}

func (s *multi) write(state State, at Site, link Link, y *gorgonia.Node) State {
	y = s.b.Hook(at.Name()+".write", elementwise.Dropout(s.b, y, s.c.Dropout), "feature") // [T, D]
	h := mix.Write(s.b, state.(multiState).H, y, link.(multiLink).Coefficients, s.m)      // [T, n, d]
	return multiState{s.b.Hook(at.Name()+".stream", h, "row", "feature")}
}

// EndBlock does nothing.
func (s *multi) EndBlock(state State, _ int) State { return state }

// copied is a stream whose rows start as copies of the embedding and end in their sum,
// normalised.
type copied struct {
	multi
	tables
	n    int
	norm *layers.Norm
}

// copiedCost is that of a copied stream of n rows whose coefficients cost that at each site.
func (c Vectors) copiedCost(n int, coefficients layers.Cost) layers.Cost {
	d := float64(c.D)
	return c.tablesCost(d).Plus(c.multiCost(packing{n, 1}, float64(n)*d, coefficients))
}

func newCopied(b *graph.Builder, c Vectors, n int, newMixer func(at Site) mixer) copied {
	t := newTables(b, c)
	return copied{tables: t, n: n, multi: newMulti(b, c, 1, newMixer), norm: layers.NewNorm(b, "norm", c.Norm, c.D)}
}

// Embed makes n copies of the tokens' embedding.
func (s *copied) Embed(t Tokens) State {
	return multiState{s.multi.b.Hook("embedding.out", shape.Copies(s.multi.b, s.lookUp(t), s.n), "row", "feature")} // [T, n, D]
}

// Features is the norm of the rows' sum.
func (s *copied) Features(state State) *gorgonia.Node {
	return s.norm.Forward(shape.SumCopies(s.multi.b, state.(multiState).H)) // [T, D]
}

// packing lays out a site's packed coefficients [n, 2m+n].
type packing struct{ n, m int }

// columns is the number of coefficients of a row.
func (p packing) columns() int { return 2*p.m + p.n }

// values packs down(i, j), carry(i, k) and up(j, i), the entries of A_down, A_carry and
// B_up.
func (p packing) values(down, carry, up func(i, j int) float64) []float64 {
	var v []float64
	for i := range p.n {
		for j := range p.m {
			v = append(v, down(i, j))
		}
		for k := range p.n {
			v = append(v, carry(i, k))
		}
		for j := range p.m {
			v = append(v, up(j, i))
		}
	}
	return v
}

// plain packs a plain residual's: sites read the first m rows, row i is carried as it is and
// takes row i mod m of what is written.
func (p packing) plain() []float64 {
	same := func(i, j int) float64 { return indicator(i == j) }
	return p.values(same, same, func(j, i int) float64 { return indicator(j == i%p.m) })
}

// indicator is 1 where a condition holds, else 0.
func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// constant is a parameter that starts at the given values and does not decay.
func constant(name string, values []float64, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Initializer{Values: values}}
}

// decaying is a weight that starts at 0 and decays: it adds nothing at first. The columns that
// it packs (down, carry, up) are one map of the state to coefficients.
func decaying(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Zeros(), Decay: true, Role: graph.RoleHidden}
}

package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// rows is what all streams with n rows of d entries for each token share. At every site
//
//	u = A_down^T H;   H <- B_up^T F(u) + A_carry^T H
//
// where A_down [n, m], A_carry [n, n] and B_up [m, n] are the site's coefficients, packed as
// mix.Read expects them, and u is m rows side by side, D = m*d. The streams differ in where the
// coefficients come from, and in how the rows start and are read at the end: here they start as
// copies of the embedding, and the last norm reads their sum. The state's H is [T, n, d].
type rows struct {
	*Vector
	packing
	mixers []mixer // by Site.Index
}

// mixer computes a site's coefficients and describes them.
type mixer struct {
	// coefficients returns [n, 2m+n] for all tokens, or a set for each token, [T, n, 2m+n].
	coefficients func(h *gorgonia.Node) *gorgonia.Node
	form         func() Form // with an empty Site
}

// mixCost returns the cost of a site's mixing, which keeps the stream of size entries, what is read
// and what is written.
func (c Vectors) mixCost(p packing, size float64) layers.Cost {
	n, m := float64(p.n), float64(p.m)
	return layers.Cost{FLOPs: 2*m*size + 2*(n+m)*size, Activations: size + 2*float64(c.D)}
}

// rowsCost returns the cost of rows without the tables. The stream has size entries; coefficients
// is the cost of the coefficients at each site.
func (c Vectors) rowsCost(p packing, size float64, coefficients layers.Cost) layers.Cost {
	site := c.Norm.Cost(float64(c.D)).Plus(c.mixCost(p, size), coefficients)
	return c.headsCost().Plus(site.Times(2)).Times(float64(c.Layers)).Plus(c.lastNormCost())
}

// copiedCost returns the cost of a stream of n copies of a vector; coefficients is the cost of the
// coefficients at each site.
func (c Vectors) copiedCost(n int, coefficients layers.Cost) layers.Cost {
	d := float64(c.D)
	return c.tablesCost(d).Plus(c.rowsCost(packing{n, 1}, float64(n)*d, coefficients))
}

// newCopied makes the parameters of a stream of n copies of a vector; newMixer makes those of a
// site.
func newCopied(b *graph.Builder, c Vectors, n int, newMixer func(at Site) mixer) *rows {
	r := &rows{Vector: startVector(b, c), packing: packing{n, 1}}
	r.addSites(newMixer)
	r.addLastNorm()
	r.Use(r)
	return r
}

// addSites makes the parameters of all sites.
func (r *rows) addSites(newMixer func(at Site) mixer) {
	for l := range r.c.Layers {
		for _, at := range r.Sites(l) {
			r.mixers = append(r.mixers, newMixer(at))
		}
		r.addBlock(l, true, r.c.Init.Output)
	}
}

// Embed makes n copies of the tokens' embedding.
func (r *rows) Embed(t Tokens) State { return r.embedCopies(t, r.n) }

// embedCopies makes n rows of the tokens' embedding: [T, n, D].
func (v *Vector) embedCopies(t Tokens, n int) State {
	return VectorState{H: v.b.Hook("embedding.out", shape.Copies(v.b, v.lookUp(t), n), "row", "feature")}
}

// Read reads A_down^T H.
func (r *rows) Read(s State, at Site) (*gorgonia.Node, Link) {
	h := s.(VectorState).H
	c := r.Hook(at, coefficientsHook, r.mixers[at.Index].coefficients(h), "row", "coefficient")
	return r.Hook(at, ".read", mix.Read(r.b, h, c, r.m)), c // [T, D]
}

// coefficientsHook is the end of the names of hooks of packed coefficients.
const coefficientsHook = ".coefficients"

// Write adds B_up^T y to the mixed rows A_carry^T H.
func (r *rows) Write(s State, at Site, from Reading, y *gorgonia.Node) State {
	h := mix.Write(r.b, s.(VectorState).H, r.Written(at, y), from.Link.(*gorgonia.Node), r.m) // [T, n, d]
	return VectorState{H: r.Hook(at, ".stream", h, "row", "feature")}
}

// End returns the rows' sum.
func (r *rows) End(s State) *gorgonia.Node { return shape.SumCopies(r.b, s.(VectorState).H) } // [T, D]

// Form returns the form that the site's mixer describes.
func (r *rows) Form(at Site) Form {
	f := r.mixers[at.Index].form()
	f.Site = at.Name()
	return f
}

// Carry carries what a site writes through the product of all later A_res. Without a run the rows
// are all equal, as in a plain residual stream: a site reads one row and writes to all, and the
// last norm takes their mean.
func (r *rows) Carry(f *Frozen) {
	each := 1.
	if f.record == nil {
		each = 1 / float64(r.n)
	}
	r.carryRows(f, copies(r.n, r.c.D), linear.Mix{In: r.n, Out: 1, Width: r.c.D, At: func(_, _, _ int) float64 { return each }})
}

// carryRows carries the rows by the coefficients of all sites; the map end reads them at the end.
func (r *rows) carryRows(f *Frozen, tables, end linear.Map) {
	r.CarrySites(f, tables, func(at Site) {
		r.carryRead(f, at)
		r.carryWrite(f, at)
	})
	r.readOut(f, end)
}

// carryRead reads the rows by A_down.
func (r *rows) carryRead(f *Frozen, at Site) {
	c := r.frozen(f, at)
	f.Read(at.Name(), linear.Mix{In: r.n, Out: r.m, Width: r.c.D / r.m, At: func(t, i, j int) float64 { return c(t, j, i) }}, r.After(at))
}

// carryWrite adds a step, A_carry, and a write to the rows by B_up.
func (r *rows) carryWrite(f *Frozen, at Site) {
	n, m, c := r.n, r.m, r.frozen(f, at)
	f.Step(linear.Mix{In: n, Out: n, Width: r.c.D / m, At: func(t, i, j int) float64 { return c(t, j, m+i) }})
	f.Write(at.Name(), linear.Mix{In: m, Out: n, Width: r.c.D / m, At: func(t, i, j int) float64 { return c(t, i, m+n+j) }})
}

// frozen returns a site's packed coefficients by token, row and column: one set for all tokens, or
// one for each. Without a run it returns the coefficients of a plain residual stream.
func (r *rows) frozen(f *Frozen, at Site) func(token, row, column int) float64 {
	stride, c := r.n*r.columns(), f.recorded(at.Name()+coefficientsHook)
	switch {
	case c == nil:
		c, stride = r.plain(), 0
	case len(c) == stride:
		stride = 0
	default:
		f.checkRecorded(at.Name()+coefficientsHook, len(c), stride)
	}
	return func(token, row, column int) float64 { return c[token*stride+row*r.columns()+column] }
}

// Mixings lists A_down, A_res and B_up of all sites, and where each lies in the packed
// coefficients.
func (r *rows) Mixings() (all []Mixing) {
	for _, site := range r.c.AllSites() {
		at := func(kind MixingKind, rows, columns int, entry func(i, j int) int) {
			all = append(all, Mixing{Name: site.Name(), Kind: kind, Rows: rows, Columns: columns, Hook: site.Name() + coefficientsHook, Entry: entry})
		}
		at(MixingDown, r.m, r.n, func(i, j int) int { return j*r.columns() + i })
		at(MixingCarry, r.n, r.n, func(i, j int) int { return j*r.columns() + r.m + i })
		at(MixingUp, r.n, r.m, func(i, j int) int { return i*r.columns() + r.m + r.n + j })
	}
	return all
}

// packing lays out a site's packed coefficients [n, 2m+n].
type packing struct{ n, m int }

// columns returns the number of coefficients of a row.
func (p packing) columns() int { return 2*p.m + p.n }

// pack packs down(i, j), carry(i, k) and up(j, i), the entries of A_down, A_carry and B_up.
func (p packing) pack(down, carry, up func(i, j int) float64) []float64 {
	return table(p.n, p.columns(), func(i, column int) float64 {
		switch {
		case column < p.m:
			return down(i, column)
		case column < p.m+p.n:
			return carry(i, column-p.m)
		}
		return up(column-p.m-p.n, i)
	})
}

// plain packs the coefficients of a plain residual stream: sites read the first m rows; row i is
// carried unchanged and receives row i mod m of what is written.
func (p packing) plain() []float64 {
	return p.pack(kronecker, kronecker, func(j, i int) float64 { return indicator(j == i%p.m) })
}

// kronecker returns an entry of the unit matrix.
func kronecker(i, j int) float64 { return indicator(i == j) }

// indicator returns 1 if yes, else 0.
func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// constant describes a parameter that starts at the given values and does not decay.
func constant(name string, values []float64, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Initializer{Values: values}}
}

// filled describes a parameter that starts at one number and does not decay.
func filled(name string, value float64, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Initializer{Offset: value}}
}

// decaying describes a weight that starts at 0 and decays, so that it adds nothing at first. The
// columns that it packs (down, carry, up) form one map from the state to coefficients.
func decaying(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Zeros(), Decay: true, Role: graph.RoleHidden}
}

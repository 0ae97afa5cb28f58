package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
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
	mixers  []RowMixer // by Site.Index
	options RowOptions
	head    *RowMixer // of the gated head's factors; nil: none
}

// RowMixer computes the coefficients by which a site reads, carries and writes n rows H [T, n, D],
// and describes them.
type RowMixer struct {
	// Coefficients returns [n, 2+n] for all tokens, or a set for each token, [T, n, 2+n], packed as
	// mix.Read and mix.Write take them; [n, 2] or [T, n, 2] if rows are carried as they are.
	Coefficients func(h *gorgonia.Node) *gorgonia.Node
	Form         func() Form // with an empty Site
	projected    *projected  // nil: Coefficients does not begin with a projection of h
}

// projected are coefficients that begin with a projection of the stream: the write before computes
// it in its own pass.
type projected struct {
	mix.Projection
	of func(z *gorgonia.Node) *gorgonia.Node
}

// ProjectedMixer returns a mixer whose coefficients are of(z), z = Norm(h) w. The write before a
// site computes z in its own pass, which is faster than Coefficients that begin with norm.Linear.
func ProjectedMixer(b *graph.Builder, p mix.Projection, of func(z *gorgonia.Node) *gorgonia.Node, form func() Form) RowMixer {
	return RowMixer{func(h *gorgonia.Node) *gorgonia.Node { return of(norm.Linear(b, h, p.Gain, p.W, p.Norm)) }, form, &projected{p, of}}
}

// mixCost returns the cost of a site's mixing, which keeps the stream of size entries, what is read
// and what is written.
func (c Vectors) mixCost(p packing, size float64) layers.Cost {
	n, m := float64(p.n), float64(p.m)
	if p.unmixed {
		n = 0
	}
	return layers.Cost{FLOPs: 2*m*size + 2*(n+m)*size, Activations: size + 2*float64(c.D)}
}

// rowSitesCost returns the cost of rows without the tables. The stream has size entries;
// coefficients is the cost of the coefficients at each site.
func (c Vectors) rowSitesCost(p packing, size float64, coefficients layers.Cost) layers.Cost {
	site := c.Norm.Cost(float64(c.D)).Plus(c.mixCost(p, size), coefficients)
	return c.headsCost().Plus(site.Times(2)).Times(float64(c.Layers)).Plus(c.lastNormCost())
}

// RowsCost returns the Cost of a design whose stream NewRows makes; coefficients is the cost of the
// coefficients at each site.
func (c Vectors) RowsCost(n int, carried bool, coefficients layers.Cost) layers.Cost {
	d, p := float64(c.D), packing{n: n, m: 1, unmixed: carried}
	return c.tablesCost(d).Plus(c.rowSitesCost(p, float64(n)*d, coefficients))
}

// NewRows makes the parameters of a stream of n rows, which start as copies of the embedding:
//
//	u = A_down^T H;   H <- B_up^T F(u) + A_carry^T H        features = Norm(sum of rows)
//
// newMixer makes those of a site's coefficients. With carried, rows are carried as they are. The
// design embeds c, and its Shape has n times the Size of c's.
func NewRows(b *graph.Builder, c Vectors, n int, carried bool, newMixer func(at Site) RowMixer) Stream {
	return newRows(b, c, packing{n: n, m: 1, unmixed: carried}, RowOptions{}, newMixer, nil)
}

// newRows does what NewRows does, with options. A nil head stands for a rowGates with n factors and
// no other settings.
func newRows(b *graph.Builder, c Vectors, p packing, o RowOptions, newMixer func(at Site) RowMixer, head *rowGates) *rows {
	r := &rows{Vector: startVector(b, c), packing: p, options: o}
	r.addSites(newMixer)
	if o.Head == headGated {
		if head == nil {
			head = &rowGates{n: p.n}
		}
		mixer := head.mixer(b, c, headName, 0, nil)
		r.head = &mixer
	}
	r.addLastNorm()
	r.Use(r)
	return r
}

// addSites makes the parameters of all sites.
func (r *rows) addSites(newMixer func(at Site) RowMixer) {
	for l := range r.c.Layers {
		for _, at := range r.Sites(l) {
			r.mixers = append(r.mixers, newMixer(at))
		}
		r.addBlock(l, true, r.c.Init.Output)
	}
}

// Embed makes n copies of the tokens' embedding. With a single pass the first site reads row 0:
// the embedding itself, or what a hook has put into its place.
func (r *rows) Embed(t Tokens) State {
	x := r.lookUp(t) // [T, D]
	s := r.copies(x, r.n)
	switch {
	case r.options.SinglePass && r.b.Hooked(embeddingHook):
		s.More = gorgonia.Nodes{r.firstRow(s.H)}
	case r.options.SinglePass:
		s.More = gorgonia.Nodes{x}
	}
	return s
}

// firstRow returns row 0 of h [T, n, D]: [T, D].
func (r *rows) firstRow(h *gorgonia.Node) *gorgonia.Node {
	first := table(r.n, 1, func(i, _ int) float64 { return indicator(i == 0) })
	return mix.Read(r.b, h, shape.Constant(r.b, h, first, r.n, 1), 1)
}

// embedCopies makes n rows of the tokens' embedding: [T, n, D].
func (v *Vector) embedCopies(t Tokens, n int) VectorState {
	return v.copies(v.lookUp(t), n)
}

const embeddingHook = "embedding.out"

// copies makes n rows of x [T, D].
func (v *Vector) copies(x *gorgonia.Node, n int) VectorState {
	return VectorState{H: v.b.Hook(embeddingHook, shape.Copies(v.b, x, n), "row", "feature")}
}

// Read reads A_down^T H. With a single pass, the write before has read it by its own A_down.
func (r *rows) Read(s State, at Site) (*gorgonia.Node, Link) {
	state := s.(VectorState)
	if r.options.SinglePass {
		return r.Hook(at, ".read", state.More[0]), r.coefficients(r.mixers[at.Index], at.Name(), state.H, state.More[1:])
	}
	c := r.coefficients(r.mixers[at.Index], at.Name(), state.H, state.More)
	return r.Hook(at, ".read", mix.Read(r.b, state.H, c, r.m)), c // [T, D]
}

// coefficientsHook is the end of the names of hooks of packed coefficients.
const coefficientsHook = ".coefficients"

// coefficients computes a site's coefficients from h, or from h's projection, if the write before
// has computed it.
func (r *rows) coefficients(of RowMixer, name string, h *gorgonia.Node, projection gorgonia.Nodes) *gorgonia.Node {
	if of.projected != nil && len(projection) > 0 {
		return r.b.Hook(name+coefficientsHook, of.projected.of(projection[0]), "row", "coefficient")
	}
	return r.b.Hook(name+coefficientsHook, of.Coefficients(h), "row", "coefficient")
}

// Write adds B_up^T y to the mixed rows A_carry^T H. In the same pass it computes the projection
// with which the next site's coefficients begin and, with a single pass, reads the result for the
// next site or the last norm.
func (r *rows) Write(s State, at Site, from Reading, y *gorgonia.Node) State {
	c, h := from.Link.(*gorgonia.Node), s.(VectorState).H // h [T, n, d]
	y = r.Written(at, y)
	o := mix.NextOptions{Read: r.options.reads(at, r.c.Common), Project: r.projectionAfter(at)}
	stream := func(h *gorgonia.Node) *gorgonia.Node { return r.Hook(at, ".stream", h, "row", "feature") }
	if r.b.Hooked(at.Name()+".stream") || !o.Read && o.Project == nil { // a replaced stream is to be read
		next := VectorState{H: stream(mix.Write(r.b, h, y, c, r.m))}
		if o.Read {
			next.More = gorgonia.Nodes{mix.Read(r.b, next.H, c, r.m)}
		}
		return next
	}
	next, u, z := mix.Next(r.b, h, y, c, r.m, o)
	state := VectorState{H: stream(next)}
	for _, more := range []*gorgonia.Node{u, z} {
		if more != nil {
			state.More = append(state.More, more)
		}
	}
	return state
}

// projectionAfter returns the projection with which the coefficients of the next site or of the
// gated head begin; nil: none.
func (r *rows) projectionAfter(at Site) *mix.Projection {
	next := r.head
	if at.Index+1 < len(r.mixers) {
		next = &r.mixers[at.Index+1]
	}
	if next == nil || next.projected == nil {
		return nil
	}
	return &next.projected.Projection
}

// End returns what the head reads of the rows, by default their sum: [T, D].
func (r *rows) End(s State) *gorgonia.Node {
	h := s.(VectorState).H
	switch r.options.Head {
	case headGated:
		return mix.Read(r.b, h, r.coefficients(*r.head, headName, h, s.(VectorState).More), 1)
	case headMean:
		return elementwise.Scale(r.b, shape.SumCopies(r.b, h), 1/float64(r.n))
	case headCarried:
		return s.(VectorState).More[0]
	}
	return shape.SumCopies(r.b, h)
}

// Form returns the form that the site's mixer describes.
func (r *rows) Form(at Site) Form {
	f := r.mixers[at.Index].Form()
	f.Site = at.Name()
	if r.options.SinglePass {
		f.Beyond = append(f.Beyond, Term{Text: "A_down reads the result, for the next site; the first site reads row 0"})
	}
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
	end := linear.Mix{In: r.n, Out: 1, Width: r.c.D, At: func(_, _, _ int) float64 { return each }}
	r.carryRows(f, copies(r.n, r.c.D), r.carryHead(f, end))
}

// carryHead returns the map by which the last norm reads the rows: by the factors of the run, or
// else evenly.
func (r *rows) carryHead(f *Frozen, evenly linear.Mix) linear.Map {
	switch r.options.Head {
	case headMean:
		evenly.At = func(_, _, _ int) float64 { return 1 / float64(r.n) }
	case headCarried:
		return r.down(f, r.c.lastSite())
	case headGated:
		c, stride := f.recorded(headName+coefficientsHook), r.n
		if c == nil {
			break
		}
		if len(c) == r.n {
			stride = 0
		} else if !f.checkRecorded(headName+coefficientsHook, len(c), r.n) {
			break
		}
		evenly.At = func(t, _, j int) float64 { return c[t*stride+j] }
	}
	return evenly
}

// carryRows carries the rows by the coefficients of all sites; the map end reads them at the end.
func (r *rows) carryRows(f *Frozen, tables, end linear.Map) {
	r.CarrySites(f, tables, func(at Site) {
		r.carryRead(f, at)
		r.carryWrite(f, at)
	})
	r.readOut(f, end)
}

// carryRead reads the rows by the site's A_down or, with a single pass, by the A_down of the site
// before.
func (r *rows) carryRead(f *Frozen, at Site) {
	var down linear.Map
	switch {
	case !r.options.SinglePass:
		down = r.down(f, at)
	case at.Index == 0:
		down = linear.Row(r.n, 0, r.c.D)
	default:
		down = r.down(f, r.c.AllSites()[at.Index-1])
	}
	f.Read(at.Name(), down, r.After(at))
}

// down returns the map by which a site's A_down reads the rows.
func (r *rows) down(f *Frozen, at Site) linear.Map {
	c := r.frozen(f, at)
	return linear.Mix{In: r.n, Out: r.m, Width: r.c.D / r.m, At: func(t, i, j int) float64 { return c(t, j, i) }}
}

// carryWrite adds a step, A_carry, unless it is I, and a write to the rows by B_up.
func (r *rows) carryWrite(f *Frozen, at Site) {
	n, m, up, c := r.n, r.m, r.columns()-r.m, r.frozen(f, at)
	if !r.unmixed {
		f.Step(linear.Mix{In: n, Out: n, Width: r.c.D / m, At: func(t, i, j int) float64 { return c(t, j, m+i) }})
	}
	f.Write(at.Name(), linear.Mix{In: m, Out: n, Width: r.c.D / m, At: func(t, i, j int) float64 { return c(t, i, up+j) }})
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
		if !r.unmixed {
			at(MixingCarry, r.n, r.n, func(i, j int) int { return j*r.columns() + r.m + i })
		}
		at(MixingUp, r.n, r.m, func(i, j int) int { return (i+1)*r.columns() - r.m + j })
	}
	return all
}

// packing lays out a site's packed coefficients [n, 2m+n] or, if rows are carried as they are,
// [n, 2m].
type packing struct {
	n, m    int
	unmixed bool
}

// columns returns the number of coefficients of a row.
func (p packing) columns() int {
	if p.unmixed {
		return 2 * p.m
	}
	return 2*p.m + p.n
}

// pack packs down(i, j), carry(i, k) and up(j, i), the entries of A_down, A_carry and B_up.
func (p packing) pack(down, carry, up func(i, j int) float64) []float64 {
	return table(p.n, p.columns(), func(i, column int) float64 {
		switch {
		case column < p.m:
			return down(i, column)
		case column < p.columns()-p.m:
			return carry(i, column-p.m)
		}
		return up(column-p.columns()+p.m, i)
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

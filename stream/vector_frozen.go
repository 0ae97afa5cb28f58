package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// Writers lists the tables and the heads.
func (v *Vector) Writers() []Writer {
	writers := tableWriters(v.positions != nil, v.scale)
	if v.entry != nil && v.entry.gate != nil {
		writers = append(writers, Writer{Name: "smear", Parts: 1, Activation: smearWrite, Source: smearWrite})
	}
	for l, h := range v.attention {
		name := v.Sites(l)[0].Name()
		w := Writer{Name: name, Part: HeadPart, Activation: name + ".heads", Weight: h.output.Name(), Source: name} // the model knows how many heads there are
		w.Bias = nodeName(h.outputsBias)
		writers = append(writers, w)
	}
	return writers
}

// tableWriters lists the embedding, whose rows are multiplied by a scale, and the positions if
// there are any.
func tableWriters(positions bool, scale float64) []Writer {
	writers := []Writer{{Name: "embedding", Parts: 1, Activation: tokenRows, Table: true, Scale: scale, Source: tokenRows}}
	if positions {
		writers = append(writers, Writer{Name: "positions", Parts: 1, Activation: positionRows, Table: true, Scale: 1, Source: positionRows})
	}
	return writers
}

// Output names the stream after the last sublayer, and after backout.
func (v *Vector) Output() string {
	if v.backout != nil {
		return backoutName + ".out"
	}
	return v.c.lastSite().Name() + ".stream"
}

// Carry carries what every site writes unchanged to the end. With the option x0, h_0 is carried
// below h: before each block h becomes a sum of both. With backout, the stream that it takes away
// is carried below these.
func (v *Vector) Carry(f *Frozen) {
	d, rows := v.c.D, 1
	if v.x0 != nil {
		rows = 2
	}
	v.CarrySites(f, copies(rows, d), func(at Site) {
		if at.Sublayer == Attention {
			rows = v.keepForBackout(f, at.Block-1, rows)
			if v.x0 != nil {
				f.Step(stacked(rows, d, append(v.values(v.x0[at.Block]), make([]float64, rows-2)...)))
			}
		}
		v.carrySite(f, at, rows)
	})
	if v.backout == nil {
		v.CarryEnd(f, firstOf(rows, d))
		return
	}
	rows = v.keepForBackout(f, v.c.Layers-1, rows)
	last := make([]float64, rows)
	last[rows-1] = -v.values(v.backout)[0]
	last[0]++
	v.CarryEnd(f, linear.Rows(d, last))
}

// keepForBackout repeats the first row below the others after the block whose stream backout takes
// away, and returns the number of rows.
func (v *Vector) keepForBackout(f *Frozen, block, rows int) int {
	if v.backout == nil || block != v.backoutBlock() {
		return rows
	}
	var all linear.Stack
	for i := range rows {
		all = append(all, linear.Row(rows, i, v.c.D))
	}
	f.Step(append(all, linear.Row(rows, 0, v.c.D)))
	return rows + 1
}

// stacked returns the map that replaces the first row by a sum of all rows.
func stacked(rows, width int, first []float64) linear.Map {
	all := linear.Stack{linear.Rows(width, first)}
	for i := 1; i < rows; i++ {
		all = append(all, linear.Row(rows, i, width))
	}
	return all
}

// carryEntry carries what the tables write through the norm of the embedding, and lets smear write
// after it.
func (v *Vector) carryEntry(f *Frozen) {
	if v.entry.c.EmbeddingNorm {
		root := linear.Norm{Gain: ones(v.c.D), Groups: 1}
		f.Step(root.At(f.Recorded(tableSum, v.c.D), orEps(v.c.Norm.Eps)))
	}
	if v.entry.gate != nil {
		f.Write(smearWrite, linear.Identity(v.c.D))
	}
}

// CarrySites is the part of Steps.Carry that most streams share: it tells f that the tables write
// to the state by the map tables, and then calls site for each sublayer in the order of the run.
// site says by f.Read, f.Step and f.Write how that sublayer reads the state, what becomes of the
// state meanwhile, and how the sublayer writes to it.
func (v *Vector) CarrySites(f *Frozen, tables linear.Map, site func(at Site)) {
	up := tables
	if v.entry != nil {
		up = linear.Identity(v.c.D)
	}
	f.Write(tokenRows, up)
	if v.positions != nil {
		f.Write(positionRows, up)
	}
	if v.entry != nil {
		v.carryEntry(f)
		f.Step(tables)
	}
	for _, at := range v.c.AllSites() {
		site(at)
	}
}

// CarryEnd ends a Carry. The map m takes the state to what the last norm reads; it is
// linear.Identity if the norm reads the state. The outputs of f then have m's size, as must the
// activation that the stream's Output names. A stream whose Output is all its rows calls
// Frozen.ReadOut instead, with m as its map.
func (v *Vector) CarryEnd(f *Frozen, m linear.Map) {
	if _, one := m.(linear.Identity); !one {
		f.Step(m)
	}
	_, width := m.Sizes()
	v.readOut(f, linear.Identity(width))
}

// readOut reads the stream's output through a map and the last norm.
func (v *Vector) readOut(f *Frozen, down linear.Map) { f.ReadOut(down, v.thenNorm(v.norm)) }

// carrySite adds a site that reads and writes the first of the given number of rows.
func (v *Vector) carrySite(f *Frozen, at Site, rows int) {
	h := firstOf(rows, v.c.D)
	for _, reader := range v.c.readers(at) {
		f.Read(reader.Name(), h, v.After(reader))
	}
	f.Write(at.Name(), v.scaled(at, transposed(h)))
}

// carryThrough adds a site that reads through one map and writes through another, without a step.
func (v *Vector) carryThrough(f *Frozen, at Site, down, up linear.Map) {
	f.Read(at.Name(), down, v.After(at))
	f.Write(at.Name(), up)
}

// firstOf returns the map that takes the first of the given number of rows.
func firstOf(rows, width int) linear.Map {
	if rows == 1 {
		return linear.Identity(width)
	}
	return linear.Row(rows, 0, width)
}

// copies returns the map that repeats a row the given number of times.
func copies(rows, width int) linear.Map {
	if rows == 1 {
		return linear.Identity(width)
	}
	return linear.Mix{In: 1, Out: rows, Width: width, At: func(_, _, _ int) float64 { return 1 }}
}

// transposed returns a map's transpose; an identity's is the identity.
func transposed(m linear.Map) linear.Map {
	if _, one := m.(linear.Identity); one {
		return m
	}
	return linear.Transposed{Of: m}
}

// After returns what follows where a site reads, for Frozen.Read: the site's norm and, for
// attention, W_QKV. The biases of W_QKV are left out, since they do not depend on what is read.
func (v *Vector) After(at Site) After {
	if at.Sublayer == FeedForward {
		return v.thenNorm(v.features[at.Block])
	}
	h := v.attention[at.Block]
	return func(u []float64) (linear.Chain, []float64) {
		maps, _ := v.thenNorm(h.norm)(u)
		return append(maps, v.matrix(h.qkv)), nil
	}
}

// thenNorm returns an After with only the norm n, or the identity for nil.
func (v *Vector) thenNorm(n *layers.Norm) After {
	return func(u []float64) (linear.Chain, []float64) {
		if n == nil {
			return linear.Chain{linear.Identity(v.c.D)}, nil
		}
		m, bias := freezeNorm(v.b, n, u)
		return linear.Chain{m}, bias
	}
}

// CarryNorm carries the state through a norm, whose scale is frozen at the value for the norm's
// input [T, D], which the run recorded at the hook; without a run the scale is 1.
func (v *Vector) CarryNorm(f *Frozen, n *layers.Norm, hook string) {
	norm, bias := v.normOf(f, n, hook)
	f.Step(norm)
	f.Add(bias)
}

// normOf returns a norm frozen as CarryNorm does it, and its bias or nil.
func (v *Vector) normOf(f *Frozen, n *layers.Norm, hook string) (linear.Norm, []float64) {
	return freezeNorm(v.b, n, f.Recorded(hook, v.c.D))
}

// matrix returns the map of a parameter [in, out].
func (t tables) matrix(w *gorgonia.Node) linear.Matrix {
	return linear.Matrix{W: t.values(w), In: w.Shape()[0], Out: w.Shape()[1]}
}

// values returns a parameter's values, zeros in a model that is only planned.
func (t tables) values(n *gorgonia.Node) []float64 { return values(t.b, n.Name()) }

// Values returns the values of one of the stream's parameters, zeros in a model that is only
// planned.
func (v *Vector) Values(n *gorgonia.Node) []float64 { return v.values(n) }

// values returns the values of the parameter of that name, zeros in a model that is only planned,
// and nil if there is no such parameter.
func values(b *graph.Builder, name string) []float64 {
	switch p := b.Store().Param(name); {
	case p == nil:
		return nil
	case p.Value == nil:
		return make([]float64, p.Size())
	default:
		return graph.Float64s(p.Value)
	}
}

// freezeNorm freezes a layer's norm at its inputs x [T, ...], and returns its bias, or nil.
func freezeNorm(b *graph.Builder, n *layers.Norm, x []float64) (linear.Norm, []float64) {
	o := n.Options()
	var bias []float64
	if o.Bias != nil {
		bias = values(b, o.Bias.Name())
	}
	return linear.Norm{Gain: values(b, n.Gain().Name()), Centre: !o.RMS, Groups: 1}.At(x, orEps(o.Eps)), bias
}

// orEps returns a norm's eps, or the default for 0.
func orEps(eps float64) float64 { return orDefault(eps, 1e-6) }

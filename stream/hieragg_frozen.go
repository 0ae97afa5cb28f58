package stream

import "github.com/residua-go/residua/stream/linear"

// Writers are a vector stream's and the aggregates' hidden neurons.
func (a *hieragg) Writers() []Writer {
	writers := a.Vector.Writers()
	for _, block := range a.settings.groupEnds() {
		g, name := a.aggregateOf(block), aggregateName(block)
		w := Writer{Name: name, Part: "neuron", Parts: g.w2.Shape()[0], Activation: name + ".hidden", Weight: g.w2.Name(),
			Reads: g.w2.Shape()[0], Source: name}
		if g.b2 != nil {
			w.Bias = g.b2.Name()
		}
		writers = append(writers, w)
	}
	return writers
}

// Output is the last aggregate.
func (a *hieragg) Output() string { return aggregateName(a.c.Layers - 1) }

// FreezeHooks are what the aggregates' norms read.
func (a *hieragg) FreezeHooks() []string {
	var names []string
	for _, block := range a.settings.groupEnds() {
		names = append(names, aggregateName(block)+sumSuffix)
	}
	return names
}

// Freeze carries h and z, and inside a group after its first block x, side by side: after the
// second block h becomes x + h + z, to which the aggregate's own term is added, and its norm at
// the scale of this run makes it the next h and z. A term that the group's input has therefore
// comes out three times.
func (a *hieragg) Freeze(r Record) (*Frozen, error) {
	sums, err := recorded(r, a.FreezeHooks())
	if err != nil {
		return nil, err
	}
	return a.freeze(r, sums), nil
}

// Static has norms at scale 1 for aggregates, of h alone, of which x and z are parts.
func (a *hieragg) Static() *Frozen { return a.freeze(nil, nil) }

func (a *hieragg) freeze(r Record, sums map[string][]float64) *Frozen {
	d := a.c.D
	one := linear.Identity(d)
	f, rows := NewFrozen(r, d), 2
	f.writeTables(a.tables, linear.Stack{one, one})
	for block := range a.c.Layers {
		row := linear.Row(rows, 0, d)
		for _, site := range a.Sites(block) {
			f.vectorSite(site, row, linear.Transposed{Of: row}, a.after(site))
		}
		if rows = 2; block%hieraggGroup == 0 {
			rows = 3
			f.Step(linear.Stack{linear.Identity(2 * d), row}) // h, z, x
			continue
		}
		a.freezeAggregate(f, block, sums)
		f.Step(linear.Stack{one, one})
	}
	f.Step(linear.Row(rows, 0, d))
	f.ReadOut(one, func([]float64) (linear.Chain, []float64) { return nil, nil })
	return f
}

// freezeAggregate adds the sum and the norm after a group, which leave h alone.
func (a *hieragg) freezeAggregate(f *Frozen, block int, sums map[string][]float64) {
	g, name := a.aggregateOf(block), aggregateName(block)
	join := []float64{1, 1, 1} // of h, z and x
	if g.inputs == 2 {
		join[1] = 0
	}
	if sums == nil {
		join = []float64{1, 0, 0}
	}
	f.Step(linear.Rows(a.c.D, join))
	f.Write(name, linear.Identity(a.c.D))
	norm, bias := freezeNorm(a.b, g.norm, sums[name+sumSuffix])
	f.Step(norm)
	f.Add(bias)
}

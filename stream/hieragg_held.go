package stream

import "github.com/residua-go/residua/stream/linear"

// Writers are a vector stream's and the aggregates' hidden neurons.
func (a *hieragg) Writers() []Writer {
	writers := a.Vector.Writers()
	for block := hieraggGroup - 1; block < a.c.Layers; block += hieraggGroup {
		g, name := a.of(block), aggregateName(block)
		w := Writer{Name: name, Part: "neuron", Parts: g.w2.Shape()[0], Activation: name + ".hidden", Weight: g.w2.Name(),
			Reads: g.w2.Shape()[0], Source: name}
		if g.b2 != nil {
			w.Bias = g.b2.Name()
		}
		writers = append(writers, w)
	}
	return writers
}

// End is the last aggregate.
func (a *hieragg) End() string { return aggregateName(a.c.Layers - 1) }

// Holds are what the aggregates' norms read.
func (a *hieragg) Holds() []string {
	var names []string
	for block := hieraggGroup - 1; block < a.c.Layers; block += hieraggGroup {
		names = append(names, aggregateName(block)+".sum")
	}
	return names
}

// Hold carries h and z, and inside a group after its first block x, side by side: after the
// second block h becomes x + h + z, to which the aggregate's own term is added, and its norm at
// the scale of this run makes it the next h and z. A term that the group's input has therefore
// comes out three times.
func (a *hieragg) Hold(r Record) (*Held, error) {
	sums := map[string][]float64{} // what the aggregates' norms read
	for _, name := range a.Holds() {
		sum, err := r.Activation(name)
		if err != nil {
			return nil, err
		}
		sums[name] = sum
	}
	return a.hold(r, sums), nil
}

// Static has norms at scale 1 for aggregates, of h alone, of which x and z are parts.
func (a *hieragg) Static() *Held { return a.hold(nil, nil) }

func (a *hieragg) hold(r Record, sums map[string][]float64) *Held {
	d := a.c.D
	one := linear.Identity(d)
	h, rows := NewHeld(r, d), 2
	h.enterTables(a.tables, linear.Stack{one, one})
	for block := range a.c.Layers {
		row := linear.Row(rows, 0, d)
		for _, site := range a.Sites(block) {
			h.vectorSite(site, row, linear.Transposed{Of: row}, a.after(site))
		}
		if rows = 2; block%hieraggGroup == 0 {
			rows = 3
			h.Step(linear.Stack{linear.Identity(2 * d), row}) // h, z, x
			continue
		}
		a.holdAggregate(h, block, sums)
		h.Step(linear.Stack{one, one})
	}
	h.Step(linear.Row(rows, 0, d))
	h.ReadOut(one, func([]float64) (linear.Chain, []float64) { return nil, nil })
	return h
}

// holdAggregate adds the sum and the norm after a group, which leave h alone.
func (a *hieragg) holdAggregate(h *Held, block int, sums map[string][]float64) {
	g, name := a.of(block), aggregateName(block)
	join := []float64{1, 1, 1} // of h, z and x
	if g.inputs == 2 {
		join[1] = 0
	}
	if sums == nil {
		join = []float64{1, 0, 0}
	}
	h.Step(linear.Rows(a.c.D, join))
	h.Enter(name, linear.Identity(a.c.D))
	norm, bias := holdNorm(a.b, g.norm, sums[name+".sum"])
	h.Step(norm)
	h.Add(bias)
}

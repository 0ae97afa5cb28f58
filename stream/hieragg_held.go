package stream

// Writers are a vector stream's and the aggregates' hidden neurons.
func (a *Hieragg) Writers() []Writer {
	writers := a.Vector.Writers()
	for block := HieraggGroup - 1; block < a.c.Layers; block += HieraggGroup {
		g, name := a.of(block), aggregateName(block)
		w := Writer{Name: name, Part: "neuron", Parts: g.w2.Shape()[0], Activation: name + ".hidden", Weight: g.w2.Name(), Source: name}
		if g.b2 != nil {
			w.Bias = g.b2.Name()
		}
		writers = append(writers, w)
	}
	return writers
}

// End is the last aggregate.
func (a *Hieragg) End() string { return aggregateName(a.c.Layers - 1) }

// Holds are what the aggregates' norms read.
func (a *Hieragg) Holds() []string {
	var names []string
	for block := HieraggGroup - 1; block < a.c.Layers; block += HieraggGroup {
		names = append(names, aggregateName(block)+".sum")
	}
	return names
}

// Hold carries h, x and z, side by side: behind a group's first block x becomes h, behind
// its second h becomes x + h + z, to which the aggregate's own term is added, and its norm at
// the scale of this run makes it the next h and z. A term that the group's input has
// therefore comes out three times.
func (a *Hieragg) Hold(r Record) (*Held, error) {
	one, size := identityMap{a.c.D}, a.c.D
	state := func(rows ...[]linearMap) blockMap { return blockMap{blocks: rows, size: size} }
	into := state([]linearMap{one}, []linearMap{nil}, []linearMap{nil})
	h := &Held{tokens: r.Tokens(), size: size}
	h.enterTables(a.tables, state([]linearMap{one}, []linearMap{nil}, []linearMap{one}))
	for block := range a.c.Layers {
		for _, site := range a.Sites(block) {
			h.vectorSite(site, state([]linearMap{one, nil, nil}), into)
		}
		if block%HieraggGroup == 0 {
			h.step(state([]linearMap{one, nil, nil}, []linearMap{one, nil, nil}, []linearMap{nil, nil, one}))
			continue
		}
		if err := a.holdAggregate(h, r, block, state); err != nil {
			return nil, err
		}
	}
	h.step(state([]linearMap{one, nil, nil}))
	h.readout = func([]float64) *Readout { return &Readout{} }
	return h, nil
}

// holdAggregate adds the sum and the norm behind a group.
func (a *Hieragg) holdAggregate(h *Held, r Record, block int, state func(rows ...[]linearMap) blockMap) error {
	g, name := a.of(block), aggregateName(block)
	sum, err := r.Activation(name + ".sum")
	if err != nil {
		return err
	}
	one := identityMap{a.c.D}
	join := []linearMap{one, one, one}
	if g.inputs == 2 {
		join[2] = nil
	}
	none := []linearMap{nil, nil, nil}
	h.step(state(join, none, none))
	h.enter(name, state([]linearMap{one}, []linearMap{nil}, []linearMap{nil}))
	norm, bias := holdLayerNorm(a.b, g.norm, sum)
	h.step(state([]linearMap{norm, nil, nil}, none, []linearMap{norm, nil, nil}))
	if bias != nil {
		h.add(append(append(append([]float64(nil), bias...), make([]float64, len(bias))...), bias...))
	}
	return nil
}

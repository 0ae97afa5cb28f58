package stream

// Writers are the tables and the hidden neurons of the cells' candidates. Heads write no
// term: they reach the stream only through what the cell makes of them.
func (d *DWLSTM) Writers() []Writer {
	writers := d.tables.writers()
	for l, cell := range d.cells {
		name := lstmName(l)
		w := Writer{Name: name, Part: "neuron", Parts: d.c.Inner, Activation: name + ".activations", Weight: cell.w2.Name(), Source: name}
		if cell.b2 != nil {
			w.Bias = cell.b2.Name()
		}
		writers = append(writers, w)
	}
	return writers
}

// End is h behind the last cell.
func (d *DWLSTM) End() string { return d.Sites(d.c.Layers - 1)[0].Name() + ".stream" }

// gateNames are the gates' names behind that of their cell.
const (
	inputGate  = ".input"
	forgetGate = ".forget"
	outputGate = ".output"
)

// Holds are the gates of all cells.
func (d *DWLSTM) Holds() []string {
	var names []string
	for l := range d.cells {
		for _, gate := range []string{inputGate, forgetGate, outputGate} {
			names = append(names, lstmName(l)+gate+gateLogits)
		}
	}
	return names
}

// Hold carries h and c, side by side: c' = f o c, to which i o g is added, and h' = o o c'.
func (d *DWLSTM) Hold(r Record) (*Held, error) {
	one, size := identityMap{d.c.D}, d.c.D
	state := func(rows ...[]linearMap) blockMap { return blockMap{blocks: rows, size: size} }
	h := &Held{tokens: r.Tokens(), size: size}
	h.enterTables(d.tables, state([]linearMap{one}, []linearMap{one}))
	for l := range d.cells {
		gates := map[string]linearMap{}
		for _, gate := range []string{inputGate, forgetGate, outputGate} {
			open, err := d.heldGate(r, lstmName(l)+gate+gateLogits)
			if err != nil {
				return nil, err
			}
			gates[gate] = open
		}
		h.read(d.Sites(l)[0].Name(), state([]linearMap{one, nil}))
		h.step(state([]linearMap{nil, nil}, []linearMap{nil, gates[forgetGate]}))
		h.enter(lstmName(l), state([]linearMap{nil}, []linearMap{gates[inputGate]}))
		h.step(state([]linearMap{nil, gates[outputGate]}, []linearMap{nil, one}))
	}
	h.step(state([]linearMap{one, nil}))
	h.readout = func(end []float64) *Readout {
		m, bias := holdLayerNorm(d.b, d.norm, end)
		return &Readout{maps: []linearMap{m}, constant: bias}
	}
	return h, nil
}

// heldGate is what a gate lets through, its sigmoid.
func (d *DWLSTM) heldGate(r Record, name string) (linearMap, error) {
	logits, err := r.Activation(name)
	if err != nil {
		return nil, err
	}
	open := make([]float64, len(logits))
	for i, z := range logits {
		open[i] = logistic(z)
	}
	return scaleMap{open, d.c.D}, nil
}

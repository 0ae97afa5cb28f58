package stream

import "github.com/residua-go/residua/stream/linear"

// Writers are the tables and the hidden neurons of the cells' candidates. Heads write no
// term: they reach the stream only through what the cell makes of them.
func (d *dwlstm) Writers() []Writer {
	writers := d.tables.writers()
	for l, cell := range d.cells {
		name := lstmName(l)
		w := Writer{Name: name, Part: "neuron", Parts: d.c.inner(), Activation: name + ".activations", Weight: cell.w2.Name(),
			Reads: 3*d.c.D + d.c.inner(), Source: name}
		if cell.b2 != nil {
			w.Bias = cell.b2.Name()
		}
		writers = append(writers, w)
	}
	return writers
}

// Output is h after the last cell.
func (d *dwlstm) Output() string { return d.Sites(d.c.Layers - 1)[0].Name() + ".stream" }

// gateNames are the gates' names after that of their cell.
const (
	inputGate  = ".input"
	forgetGate = ".forget"
	outputGate = ".output"
)

// FreezeHooks are the gates of all cells.
func (d *dwlstm) FreezeHooks() []string {
	var names []string
	for l := range d.cells {
		for _, gate := range []string{inputGate, forgetGate, outputGate} {
			names = append(names, lstmName(l)+gate+gateLogits)
		}
	}
	return names
}

// Freeze carries h and c, side by side: c' = f ⊙ c, to which i ⊙ g is added, and h' = o ⊙ c'.
func (d *dwlstm) Freeze(r Record) (*Frozen, error) {
	one, row := linear.Identity(d.c.D), func(i int) linear.Map { return linear.Row(2, i, d.c.D) }
	f := NewFrozen(r, d.c.D)
	f.writeTables(d.tables, linear.Stack{one, one})
	for l := range d.cells {
		gates := map[string]linear.Map{}
		for _, gate := range []string{inputGate, forgetGate, outputGate} {
			open, err := d.frozenGate(r, lstmName(l)+gate+gateLogits)
			if err != nil {
				return nil, err
			}
			gates[gate] = open
		}
		f.Read(d.Sites(l)[0].Name(), row(0), nil)
		f.Step(linear.Chain{row(1), gates[forgetGate]}) // c alone
		f.Write(lstmName(l), gates[inputGate])
		f.Step(linear.Stack{gates[outputGate], one})
	}
	f.Step(row(0))
	f.ReadOut(one, thenNorm(d.b, d.norm))
	return f, nil
}

// frozenGate is what a gate lets through, its sigmoid.
func (d *dwlstm) frozenGate(r Record, name string) (linear.Map, error) {
	logits, err := r.Activation(name)
	if err != nil {
		return nil, err
	}
	open := make([]float64, len(logits))
	for i, z := range logits {
		open[i] = logistic(z)
	}
	return linear.Scale{Factors: open, Size: d.c.D}, nil
}

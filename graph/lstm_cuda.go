//go:build cuda

package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// lstmArgs are the inputs of an LSTM kernel: the given ones, the cell's state and its
// gradient, as floats, the others as activations.
func (c *deviceCall) lstmArgs(floats ...int) ([]cuda.Arg, error) {
	args := make([]cuda.Arg, len(c.args))
	for i := range args {
		t := c.activation()
		if slices.Contains(floats, i) {
			t = cuda.F32
		}
		a, err := c.inAs(i, t)
		if err != nil {
			return nil, err
		}
		args[i] = a.Arg()
	}
	return args, nil
}

// lstm launches a kernel of the output, the secondaries, as activations, and the inputs.
func (c *deviceCall) lstm(kernel string, secondaries int, inputs []cuda.Arg) error {
	args := []cuda.Arg{c.out().Arg()}
	var results []result
	for i := range secondaries {
		r, err := c.companionAs(i, c.activation())
		if err != nil {
			return err
		}
		results, args = append(results, r), append(args, r.array.Arg())
	}
	n := c.out().N
	err := c.launch(kernel+"_"+c.activation().String(), cuda.Quads(n), append(append(args, inputs...), cuda.Long(n))...)
	for _, r := range results {
		if err == nil {
			err = r.deliver()
		}
	}
	return err
}

func (lstmCell) launch(c *deviceCall) error {
	inputs, err := c.lstmArgs(0)
	if err != nil {
		return err
	}
	return c.lstm("lstm_cell", 1, inputs)
}

func (lstmOutput) launch(*deviceCall) error { return nil }

func (lstmOutputGrad) launch(c *deviceCall) error {
	inputs, err := c.lstmArgs(1, 3)
	if err != nil {
		return err
	}
	if len(inputs) < 4 {
		inputs = append(inputs, cuda.Array{}.Arg())
	}
	return c.lstm("lstm_output_grad", 1, inputs)
}

func (lstmCellGrad) launch(c *deviceCall) error {
	inputs, err := c.lstmArgs(0, 1)
	if err != nil {
		return err
	}
	return c.lstm("lstm_cell_grad", 3, inputs)
}

func (lstmGateGrad) launch(*deviceCall) error { return nil }

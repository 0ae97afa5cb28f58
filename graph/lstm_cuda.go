//go:build cuda

package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// lstmArgs are the inputs of an LSTM kernel: the given ones, the cell's state and its
// gradient, as floats, the others as activations.
func (c *DeviceCall) lstmArgs(floats ...int) ([]cuda.Arg, error) {
	args := make([]cuda.Arg, len(c.Inputs()))
	for i := range args {
		t := c.Activation()
		if slices.Contains(floats, i) {
			t = cuda.F32
		}
		a, err := c.InAs(i, t)
		if err != nil {
			return nil, err
		}
		args[i] = a.Arg()
	}
	return args, nil
}

// lstm launches a kernel of the output, the secondaries, as activations, and the inputs.
func (c *DeviceCall) lstm(kernel string, secondaries int, inputs []cuda.Arg) error {
	args := []cuda.Arg{c.Out().Arg()}
	var results []SecondaryResult
	for i := range secondaries {
		r, err := c.SecondaryAs(i, c.Activation())
		if err != nil {
			return err
		}
		results, args = append(results, r), append(args, r.Array.Arg())
	}
	n := c.Out().N
	err := c.Launch(kernel+"_"+c.Activation().String(), cuda.Quads(n), append(append(args, inputs...), cuda.Long(n))...)
	for _, r := range results {
		if err == nil {
			err = r.Deliver()
		}
	}
	return err
}

func (lstmCell) Launch(c *DeviceCall) error {
	inputs, err := c.lstmArgs(0)
	if err != nil {
		return err
	}
	return c.lstm("lstm_cell", 1, inputs)
}

func (lstmOutput) Launch(*DeviceCall) error { return nil }

func (lstmOutputGrad) Launch(c *DeviceCall) error {
	inputs, err := c.lstmArgs(1, 3)
	if err != nil {
		return err
	}
	if len(inputs) < 4 {
		inputs = append(inputs, cuda.Array{}.Arg())
	}
	return c.lstm("lstm_output_grad", 1, inputs)
}

func (lstmCellGrad) Launch(c *DeviceCall) error {
	inputs, err := c.lstmArgs(0, 1)
	if err != nil {
		return err
	}
	return c.lstm("lstm_cell_grad", 3, inputs)
}

func (lstmGateGrad) Launch(*DeviceCall) error { return nil }

package elementwise

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// lstmArgs are the inputs of an LSTM kernel: the given ones, the cell's state and its
// gradient, as floats, the others as activations.
func lstmArgs(c *graph.DeviceCall, floats ...int) ([]cuda.Arg, error) {
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
func launchLSTM(c *graph.DeviceCall, kernel string, secondaries int, inputs []cuda.Arg) error {
	args := []cuda.Arg{c.Out().Arg()}
	var results []graph.SecondaryResult
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

func (lstmCell) Launch(c *graph.DeviceCall) error {
	inputs, err := lstmArgs(c, 0)
	if err != nil {
		return err
	}
	return launchLSTM(c, "lstm_cell", 1, inputs)
}

func (lstmOutput) Launch(*graph.DeviceCall) error { return nil }

func (lstmOutputGrad) Launch(c *graph.DeviceCall) error {
	inputs, err := lstmArgs(c, 1, 3)
	if err != nil {
		return err
	}
	if len(inputs) < 4 {
		inputs = append(inputs, cuda.Array{}.Arg())
	}
	return launchLSTM(c, "lstm_output_grad", 1, inputs)
}

func (lstmCellGrad) Launch(c *graph.DeviceCall) error {
	inputs, err := lstmArgs(c, 0, 1)
	if err != nil {
		return err
	}
	return launchLSTM(c, "lstm_cell_grad", 3, inputs)
}

func (lstmGateGrad) Launch(*graph.DeviceCall) error { return nil }

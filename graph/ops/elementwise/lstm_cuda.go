package elementwise

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// launchLSTM launches a kernel with the output, the secondaries and some inputs as arguments. The
// inputs listed in floats, which are the cell's state and its gradient, are passed as floats;
// everything else is passed as activations.
func launchLSTM(c *graph.DeviceCall, kernel string, secondaries, inputs int, floats ...int) {
	var in, out cuda.Args
	for i := range inputs {
		t := c.Activation()
		if slices.Contains(floats, i) {
			t = cuda.F32
		}
		in = append(in, c.InAs(i, t))
	}
	var results []graph.SecondaryResult
	for i := range secondaries {
		r := c.SecondaryAs(i, c.Activation())
		results, out = append(results, r), append(out, r.Array)
	}
	n := c.Out().N
	c.Launch(kernel+"_"+c.Activation().String(), cuda.Quads(n), c.Out(), out, in, cuda.Long(n))
	for _, r := range results {
		r.Deliver()
	}
}

func (lstmCell) Launch(c *graph.DeviceCall) { launchLSTM(c, "lstm_cell", 1, 5, 0) }

// Launch passes the fourth input only if there is a gradient to add to.
func (lstmOutputGrad) Launch(c *graph.DeviceCall) { launchLSTM(c, "lstm_output_grad", 1, 4, 1, 3) }

func (lstmCellGrad) Launch(c *graph.DeviceCall) { launchLSTM(c, "lstm_cell_grad", 3, 5, 0, 1) }

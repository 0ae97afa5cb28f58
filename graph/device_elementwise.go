package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// Unify converts the inputs to the output's type, for this run.
func (c *DeviceCall) Unify() {
	for i := range c.args {
		c.args[i] = c.InAs(i, c.Out().Type)
	}
}

// Elementwise launches a kernel that treats each element by itself: its arguments are the
// output, the inputs, some numbers and how many elements there are.
func (c *DeviceCall) Elementwise(kernel string, numbers ...cuda.Arg) {
	c.Unify()
	y := c.Out()
	args := cuda.Args{y}
	for _, x := range c.args {
		args = append(args, x)
	}
	c.Launch(kernel+y.Suffix(), cuda.Eights(y.N), args, cuda.Args(numbers), cuda.Long(y.N))
}

// maxSum is the most inputs that one launch sums.
const maxSum = 8

// Sum computes y (+)= inputs[0] + inputs[1] + ..., from left to right; all of one type.
func (c *DeviceCall) Sum(y cuda.Array, inputs []cuda.Array, accumulate bool) {
	for group := range slices.Chunk(inputs, maxSum) {
		var padded [maxSum]cuda.Array
		copy(padded[:], group)
		args := cuda.Args{y}
		for _, x := range padded {
			args = append(args, x)
		}
		c.Launch("add"+y.Suffix(), cuda.Eights(y.N), args, cuda.Bool(accumulate), cuda.Long(y.N))
		accumulate = true
	}
}

// SumRows computes y (+)= the sum of the rows of x [rows, width], y being F32: first over
// slabs of rows side by side, then over the slabs in their order.
func (c *DeviceCall) SumRows(y, x cuda.Array, rows, width int, accumulate bool) {
	groups := (width + 127) / 128
	slabs := max(1, min((512+groups-1)/groups, rows/32))
	length := (rows + slabs - 1) / slabs
	slabs = (rows + length - 1) / length
	partial := c.Scratch(cuda.F32, slabs*width) // [slabs, width]
	c.Launch("sum_rows_partial"+x.Suffix(), cuda.Grid{X: groups, Y: slabs, Threads: 256},
		partial, x, cuda.Ints(rows, width, length))
	c.Launch("sum_rows_finish", cuda.Over(width, 256),
		y, partial, cuda.Ints(slabs, width), cuda.Bool(accumulate))
}

package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// Unify converts all inputs to the output's type for this run.
func (c *DeviceCall) Unify() {
	for i := range c.args {
		c.args[i] = c.InAs(i, c.Out().Type)
	}
}

// Elementwise launches a kernel that computes each element independently. The kernel's arguments
// are the output, the inputs, the numbers and the count of elements.
func (c *DeviceCall) Elementwise(kernel string, numbers ...cuda.Arg) {
	c.Unify()
	y := c.Out()
	args := cuda.Args{y}
	for _, x := range c.args {
		args = append(args, x)
	}
	c.Launch(kernel+y.Suffix(), cuda.Eights(y.N), args, cuda.Args(numbers), cuda.Long(y.N))
}

// maxSum is the largest number of inputs that one launch can sum.
const maxSum = 8

// Sum computes y (+)= inputs[0] + inputs[1] + ..., from left to right. All arrays have one type.
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

// SumRows computes y (+)= the sum of the rows of x [rows, width]. y is F32. It sums slabs of rows
// in parallel, then the slabs in order.
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

//go:build cuda

package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// unify converts the inputs to the output's type, for this run.
func (c *deviceCall) unify() error {
	for i := range c.args {
		a, err := c.inAs(i, c.out().Type)
		if err != nil {
			return err
		}
		c.args[i] = a
	}
	return nil
}

// elementwise launches a kernel that treats each element by itself: its arguments are the
// output, the inputs, some numbers and how many elements there are.
func (c *deviceCall) elementwise(kernel string, numbers ...cuda.Arg) error {
	if err := c.unify(); err != nil {
		return err
	}
	y := c.out()
	args := []cuda.Arg{y.Arg()}
	for _, x := range c.args {
		args = append(args, x.Arg())
	}
	args = append(append(args, numbers...), cuda.Long(y.N))
	return c.launch(kernel+y.Suffix(), cuda.Quads(y.N), args...)
}

// maxSum is the most inputs that one launch sums.
const maxSum = 8

// sum computes y (+)= inputs[0] + inputs[1] + ..., from left to right; all of one type.
func (c *deviceCall) sum(y cuda.Array, inputs []cuda.Array, accumulate bool) error {
	for group := range slices.Chunk(inputs, maxSum) {
		var padded [maxSum]cuda.Array
		copy(padded[:], group)
		args := []cuda.Arg{y.Arg()}
		for _, x := range padded {
			args = append(args, x.Arg())
		}
		args = append(args, cuda.Bool(accumulate), cuda.Long(y.N))
		if err := c.launch("add"+y.Suffix(), cuda.Quads(y.N), args...); err != nil {
			return err
		}
		accumulate = true
	}
	return nil
}

// sumRows computes y (+)= the sum of the rows of x [rows, width], y being F32: first over
// slabs of rows side by side, then over the slabs in their order.
func (c *deviceCall) sumRows(y, x cuda.Array, rows, width int, accumulate bool) error {
	groups := (width + 127) / 128
	slabs := max(1, min((512+groups-1)/groups, rows/32))
	length := (rows + slabs - 1) / slabs
	slabs = (rows + length - 1) / length
	partial, err := c.scratch(cuda.F32, slabs*width) // [slabs, width]
	if err != nil {
		return err
	}
	err = c.launch("sum_rows_partial"+x.Suffix(), cuda.Grid{X: groups, Y: slabs, Threads: 256},
		partial.Arg(), x.Arg(), cuda.Int(rows), cuda.Int(width), cuda.Int(length))
	if err != nil {
		return err
	}
	return c.launch("sum_rows_finish", cuda.Over(width, 256),
		y.Arg(), partial.Arg(), cuda.Int(slabs), cuda.Int(width), cuda.Bool(accumulate))
}

package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// expertTile is the number of rows, and of columns, that a block of the experts' kernels computes
// (TILE in cuda/moe_tile.cuh).
const expertTile = 128

// deviceDispatch is a kernel.Dispatch in device memory.
type deviceDispatch struct {
	choices, places, order, offsets cuda.Array

	rows, topK, experts int
}

// newDeviceDispatch returns a deviceDispatch over the memory of its node.
func newDeviceDispatch(memory cuda.Array, topK, experts int) deviceDispatch {
	rows := (memory.N - experts - 1) / 3
	return deviceDispatch{
		choices: memory.Slice(0, rows), places: memory.Slice(rows, rows), order: memory.Slice(2*rows, rows),
		offsets: memory.Slice(3*rows, experts+1), rows: rows, topK: topK, experts: experts,
	}
}

func (k experts) deviceDispatch(c *graph.DeviceCall, i int) deviceDispatch {
	return newDeviceDispatch(c.In(i), k.topK, k.number)
}

// rowTiles returns an upper bound of the number of tiles of rows, however the rows are distributed:
// each expert has at most one tile that is not full.
func (d deviceDispatch) rowTiles() int { return d.rows/expertTile + min(d.experts, d.rows) }

// grid returns the grid of a product whose rows have n columns.
func (d deviceDispatch) grid(n int) cuda.Grid {
	return cuda.Grid{X: d.rowTiles() * tiles(n), Threads: 256}
}

// args returns the dispatch as kernel arguments of a product.
func (d deviceDispatch) args() cuda.Args {
	return cuda.Args{d.order, d.offsets, cuda.Ints(d.experts, d.topK)}
}

func tiles(n int) int { return (n + expertTile - 1) / expertTile }

// warpEach returns the grid of a kernel with one warp for each of n items.
func warpEach(n int) cuda.Grid { return cuda.Grid{X: (n + 7) / 8, Threads: 256} }

// floatOut returns memory into which a kernel may write the output as 32-bit floats; call finish
// afterwards to convert it to the output's own type.
func floatOut(c *graph.DeviceCall) (a cuda.Array, finish func()) {
	y := c.Out()
	if y.Type == cuda.F32 {
		return y, func() {}
	}
	a = c.Scratch(cuda.F32, y.N)
	return a, func() { c.CopyTo(y, a) }
}

// combine sums the rows of each token into y [tokens, width], multiplied by the gates and with the
// biases added, if there are any.
func (d deviceDispatch) combine(c *graph.DeviceCall, y, rows, bias, gates cuda.Array, accumulate bool) {
	name := "moe_combine" + rows.Suffix()
	if y.Type != rows.Type {
		name += y.Suffix()
	}
	tokens := d.rows / d.topK
	c.Launch(name, cuda.Over((y.N+3)/4, 256),
		y, rows, bias, gates, d.places, d.choices,
		cuda.Ints(tokens, d.topK, y.N/tokens), cuda.Bool(accumulate))
}

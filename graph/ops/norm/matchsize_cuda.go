package norm

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// matchGrid gives each row a warp.
func matchGrid(rows int) cuda.Grid { return cuda.Grid{X: cuda.CeilDiv(rows, 8), Threads: 256} }

func (matchSize) Launch(c *graph.DeviceCall) {
	y, rows, width := c.Out(), c.Result().Leading(), c.Result().Width()
	in := c.InAll(y.Type, 0, 1)
	c.Launch("match_size"+y.Suffix(), matchGrid(rows), y, in[0], in[1], cuda.Ints(rows, width), cuda.Float(kernel.MatchFloor))
}

func (matchSizeGrad) Launch(c *graph.DeviceCall) {
	dv, rows, width := c.Out(), c.Result().Leading(), c.Result().Width()
	in, dlike := c.InAll(dv.Type, 0, 1, 2), c.SecondaryAs(0, dv.Type)
	c.Launch("match_size_grad"+dv.Suffix(), matchGrid(rows), dv, dlike.Array, in[0], in[1], in[2],
		cuda.Bool(dlike.Accumulate), cuda.Ints(rows, width), cuda.Float(kernel.MatchFloor))
	dlike.Deliver()
}

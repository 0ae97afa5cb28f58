package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k terms) Launch(c *graph.DeviceCall) {
	name, rows := "moe_spread", k.number // rows per token in the output
	if k.gather {
		name, rows = "moe_gather", k.topK
	}
	y := c.Out()
	x := c.InAs(0, y.Type)
	d := k.deviceDispatch(c, 1)
	tokens := d.rows / k.topK
	width := y.N / (tokens * rows)
	c.Launch(name+y.Suffix(), cuda.QuadRows(tokens*rows, width),
		y, x, d.choices, cuda.Ints(tokens, k.topK, k.number, width))
}

package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertTerms) Launch(c *graph.DeviceCall) {
	k.launchTerms(c, "moe_spread", k.number)
}

func (k chosenTerms) Launch(c *graph.DeviceCall) { k.launchTerms(c, "moe_gather", k.topK) }

// launchTerms launches the kernel of expertTerms or chosenTerms; rows is the number of rows a token
// in the output.
func (k experts) launchTerms(c *graph.DeviceCall, name string, rows int) {
	y := c.Out()
	x := c.InAs(0, y.Type)
	d := k.deviceDispatch(c, 1)
	tokens := d.rows / k.topK
	width := y.N / (tokens * rows)
	c.Launch(name+y.Suffix(), cuda.QuadRows(tokens*rows, width),
		y, x, d.choices, cuda.Ints(tokens, k.topK, k.number, width))
}

package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertTerms) Launch(c *graph.DeviceCall) error {
	return k.launchTerms(c, "moe_spread", k.number)
}

func (k chosenTerms) Launch(c *graph.DeviceCall) error { return k.launchTerms(c, "moe_gather", k.topK) }

// launchTerms launches the kernel of either; the output has so many rows a token.
func (k experts) launchTerms(c *graph.DeviceCall, name string, rows int) error {
	y := c.Out()
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	d := k.deviceDispatch(c, 1)
	tokens := d.rows / k.topK
	width := y.N / (tokens * rows)
	return c.Launch(name+y.Suffix(), cuda.QuadRows(tokens*rows, width),
		y.Arg(), x.Arg(), d.choices.Arg(), cuda.Int(tokens), cuda.Int(k.topK), cuda.Int(k.number), cuda.Int(width))
}

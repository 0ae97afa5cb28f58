package elementwise

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// scale multiplies by a constant.
type scale struct{ factor float64 }

// Scale multiplies every entry by a constant factor.
func Scale(b *graph.Builder, x *gorgonia.Node, factor float64) *gorgonia.Node {
	return b.Apply(scale{factor}, x)
}

func (k scale) String() string { return fmt.Sprintf("Scale(%g)", k.factor) }

func (k scale) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (k scale) InPlace(int) bool { return true }

func (scale) SameType() bool { return true }

func (k scale) VJP(d *graph.Derivative) {
	d.Make(0, k, d.Gradient())
}

func (k scale) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.Scale[float32], kernel.Scale[float64], k.factor)
}

func (k scale) Launch(c *graph.DeviceCall) { c.Elementwise("scale", cuda.Float(k.factor)) }

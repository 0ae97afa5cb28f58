package elementwise

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// softCap bounds its input smoothly.
type softCap struct{ c float64 }

// SoftCap bounds x smoothly, elementwise (Gemma 2, arXiv 2408.00118, section 2):
//
//	y = c tanh(x/c)
//
// With c = 0 there is no bound: SoftCap returns x itself.
func SoftCap(b *graph.Builder, x *gorgonia.Node, c float64) *gorgonia.Node {
	if c == 0 {
		return x
	}
	return b.Apply(softCap{c}, x)
}

func (k softCap) String() string { return fmt.Sprintf("SoftCap(%g)", k.c) }

func (softCap) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (softCap) InPlace(int) bool { return true }

func (k softCap) VJP(d *graph.Derivative) {
	d.Make(0, softCapGrad{of: k}, d.Gradient(), d.Output())
}

func (k softCap) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.SoftCap[float32], kernel.SoftCap[float64], k.c)
}

// Launch runs the op on a device.
func (k softCap) Launch(c *graph.DeviceCall) { c.Elementwise("softcap", cuda.Float(k.c)) }

// softCapGrad computes dx = dy (1 - (y/c)^2). Inputs: dy, y.
type softCapGrad struct {
	graph.NoGradient
	of softCap
}

func (k softCapGrad) String() string { return "GradX of " + k.of.String() }

func (softCapGrad) InPlace(int) bool { return true }

func (k softCapGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.SoftCapGradient[float32], kernel.SoftCapGradient[float64], k.of.c)
}

func (k softCapGrad) Launch(c *graph.DeviceCall) {
	c.Elementwise("softcap_grad", cuda.Float(k.of.c))
}

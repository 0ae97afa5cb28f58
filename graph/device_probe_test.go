//go:build cuda

package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The ops that only tests have: they stand before and behind an op under test, on the CPU
// and on a device.

// enter makes an activation of a parameter: in precision bf16 the op under test sees what
// it would see in a model, unless full keeps it in 32 bits. Its second input is an Int32:
// the tape machine wants something to copy to the device.
type enter struct{ full bool }

func (k enter) String() string { return fmt.Sprintf("Enter(full=%t)", k.full) }

func (k enter) FullPrecision() bool { return k.full }

func (enter) Infer(in []Signature) (Signature, error) { return in[0], nil }

func (enter) VJP(d *Derivative) { d.Set(0, d.Gradient()) }

func (enter) Run(c *Call) error { return (duplicate{}).Run(c) }

func (enter) Launch(c *DeviceCall) error { return c.CopyTo(c.Out(), c.In(0)) }

// weigh is sum_i weights_i x_i, a loss whose gradient with respect to x are the weights.
type weigh struct{ weights []float32 }

func (k weigh) String() string { return fmt.Sprintf("Weigh(%d)", len(k.weights)) }

func (k weigh) Infer(in []Signature) (Signature, error) {
	return Signature{in[0].DType, tensor.ScalarShape()}, nil
}

func (k weigh) VJP(d *Derivative) {
	d.Set(0, d.Apply(weights{weights: k.weights, x: d.Signature(0)}, d.Input(0)))
}

func (k weigh) Run(c *Call) error {
	sum := 0.0
	for i, x := range In[float32](c, 0) {
		sum += float64(k.weights[i]) * float64(x)
	}
	Out[float32](c)[0] = float32(sum)
	return nil
}

// Launch leaves the loss 0: what counts is the gradient.
func (k weigh) Launch(c *DeviceCall) error { return c.Device().Zero(c.Out()) }

// weights emits the gradient of weigh.
type weights struct {
	NoGradient
	weights []float32
	x       Signature
}

func (k weights) String() string { return fmt.Sprintf("Weights(%d)", len(k.weights)) }

func (k weights) Infer([]Signature) (Signature, error) { return k.x, nil }

func (k weights) Run(c *Call) error {
	copy(Out[float32](c), k.weights)
	return nil
}

func (k weights) Launch(c *DeviceCall) error {
	var saved DeviceMemory
	a, err := c.Constant(&saved, k.weights)
	if err != nil {
		return err
	}
	return c.CopyTo(c.Out(), a)
}

// probed builds a case's op over parameters, the first of them as an activation, and a
// loss that its gradients come from.
func (c opCase) probed(b *Builder, full bool, weights []float32) Roots {
	var x, ids gorgonia.Nodes
	var present *gorgonia.Node
	if len(c.floats) > 0 {
		present = b.Input("present", tensor.Int32, 1)
	}
	for i, shape := range c.floats {
		p := b.Param(ParamSpec{Name: fmt.Sprintf("x%d", i), Shape: shape, Init: Normal(1)})
		if i == 0 {
			p = b.Apply(enter{full}, p, present)
		}
		x = append(x, p)
	}
	for i, in := range c.ints {
		ids = append(ids, b.Input(fmt.Sprintf("ids%d", i), tensor.Int32, in.shape...))
	}
	y := c.build(b, x, ids)
	if b.Err() != nil {
		return Roots{}
	}
	r := Roots{Outputs: gorgonia.Nodes{y}}
	switch {
	case c.noGradient:
	case y.IsScalar():
		r.Loss = y
	default:
		r.Loss = b.Apply(weigh{weights[:SignatureOf(y).Size()]}, y)
	}
	return r
}

package optest

import (
	"fmt"
	"math/rand/v2"

	"github.com/residua-go/residua/graph"
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

func (enter) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (enter) VJP(d *graph.Derivative) { d.Set(0, d.Gradient()) }

func (k enter) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runEnter[float32], runEnter[float64])
}

func runEnter[T float32 | float64](_ enter, c *graph.Call) error {
	copy(graph.Out[T](c), graph.In[T](c, 0))
	return nil
}

// weigh is sum_i weights_i x_i, a loss whose gradient with respect to x are the weights.
type weigh struct{ weights []float32 }

func (k weigh) String() string { return fmt.Sprintf("Weigh(%d)", len(k.weights)) }

func (k weigh) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, nil
}

func (k weigh) VJP(d *graph.Derivative) {
	d.Set(0, d.Apply(Weights{Weights: k.weights, X: d.Signature(0)}, d.Input(0)))
}

func (k weigh) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runWeigh[float32], runWeigh[float64])
}

func runWeigh[T float32 | float64](k weigh, c *graph.Call) error {
	sum := 0.0
	for i, x := range graph.In[T](c, 0) {
		sum += float64(k.weights[i]) * float64(x)
	}
	graph.Out[T](c)[0] = T(sum)
	return nil
}

// Weights emits the gradient of weigh.
type Weights struct {
	graph.NoGradient
	Weights []float32
	X       graph.Signature
}

func (k Weights) String() string { return fmt.Sprintf("Weights(%d)", len(k.Weights)) }

func (k Weights) Infer([]graph.Signature) (graph.Signature, error) { return k.X, nil }

func (k Weights) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runWeights[float32], runWeights[float64])
}

func runWeights[T float32 | float64](k Weights, c *graph.Call) error {
	y := graph.Out[T](c)
	for i, w := range k.Weights {
		y[i] = T(w)
	}
	return nil
}

// drawn are n weights.
func drawn(n int) []float32 {
	r := rand.New(rand.NewPCG(7, 7))
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	return weights
}

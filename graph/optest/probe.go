package optest

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// The ops below exist only in tests: they stand before and after an op under test, on the CPU and
// on a device.

// asActivation converts a parameter to an activation, so that in precision bf16 the op under test
// sees what it would see in a model, unless keepsFloat32 is true. Its second input is an Int32,
// because the tape machine needs something to copy to the device.
type asActivation struct{ keepsFloat32 bool }

func (k asActivation) String() string { return fmt.Sprintf("AsActivation(float32=%t)", k.keepsFloat32) }

func (k asActivation) KeepsFloat32() bool { return k.keepsFloat32 }

// ReadsInts returns true for the second input.
func (asActivation) ReadsInts(i int) bool { return i == 1 }

func (asActivation) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (asActivation) VJP(d *graph.Derivative) { d.Set(0, d.Gradient()) }

func (k asActivation) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAsActivation, runAsActivation)
}

func runAsActivation[T float32 | float64](_ asActivation, c graph.CallOf[T]) {
	copy(c.Out(), c.In(0))
}

// weightedLoss computes sum_i weights_i x_i; the gradient of this loss with respect to x is
// weights.
type weightedLoss struct{ weights []float32 }

func (k weightedLoss) String() string { return fmt.Sprintf("WeightedLoss(%d)", len(k.weights)) }

func (k weightedLoss) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, nil
}

func (k weightedLoss) VJP(d *graph.Derivative) {
	d.Make(0, WeightedLossGrad{Weights: k.weights, X: d.Signature(0)}, d.Input(0))
}

func (k weightedLoss) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWeightedLoss, runWeightedLoss)
}

func runWeightedLoss[T float32 | float64](k weightedLoss, c graph.CallOf[T]) {
	sum := 0.0
	for i, x := range c.In(0) {
		sum += float64(k.weights[i]) * float64(x)
	}
	c.Out()[0] = T(sum)
}

// WeightedLossGrad emits the gradient of weightedLoss.
type WeightedLossGrad struct {
	graph.NoGradient
	Weights []float32
	X       graph.Signature
}

func (k WeightedLossGrad) String() string { return fmt.Sprintf("WeightedLossGrad(%d)", len(k.Weights)) }

func (k WeightedLossGrad) Infer([]graph.Signature) (graph.Signature, error) { return k.X, nil }

func (k WeightedLossGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWeightedLossGrad, runWeightedLossGrad)
}

func runWeightedLossGrad[T float32 | float64](k WeightedLossGrad, c graph.CallOf[T]) {
	y := c.Out()
	for i, w := range k.Weights {
		y[i] = T(w)
	}
}

// drawn returns n random weights.
func drawn(n int) []float32 {
	r := rand.New(rand.NewPCG(7, 7))
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	return weights
}

package elementwise

import (
	"fmt"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// weightedSum sums tensors, each multiplied by a weight. Inputs: the weights, the tensors.
type weightedSum struct{}

// WeightedSum sums tensors of the same shape, each multiplied by its own weight, as DenseFormer
// does with the outputs of all earlier blocks (Pagliardini et al. 2024, arXiv 2402.02622, section
// 3), or, with separate weights for each token, as attention over them does:
//
//	y_t = sum over j of a[j] x[j]_t      or      sum over j of a[t, j] x[j]_t
//
// weights a [k] or [1, k] for all tokens, or [T, k], one set for each token; x k tensors [T, ...],
// y like each of them. The terms are added in order. A tensor is skipped where its weight is 0, so
// that weights of 0 and a single 1 give that tensor, bit for bit.
func WeightedSum(b *graph.Builder, weights *gorgonia.Node, x ...*gorgonia.Node) *gorgonia.Node {
	if len(x) == 0 {
		b.Fail(errors.New("graph: WeightedSum: want at least one tensor, got none"))
		return nil
	}
	return b.Apply(weightedSum{}, append(gorgonia.Nodes{weights}, x...)...)
}

func (weightedSum) String() string { return "WeightedSum" }

func (weightedSum) FLOPs(c graph.Cost) int {
	return 2 * sumParams(c.Signature(0), c.Result()).Terms * c.Result().Size()
}

func (weightedSum) Infer(in []graph.Signature) (graph.Signature, error) {
	a, x := in[0].Shape, in[1:]
	for j, s := range x {
		if s.Shape.Dims() < 2 {
			return graph.Signature{}, errors.Errorf("tensor %d: want shape [tokens, ...], got %v", j, s.Shape)
		}
		if !s.Shape.Eq(x[0].Shape) {
			return graph.Signature{}, errors.Errorf("tensor %d: want shape %v as tensor 0, got %v", j, x[0].Shape, s.Shape)
		}
	}
	k, tokens := len(x), x[0].Leading()
	if !slices.Equal(a, tensor.Shape{k}) && !slices.Equal(a, tensor.Shape{1, k}) && !slices.Equal(a, tensor.Shape{tokens, k}) {
		return graph.Signature{}, errors.Errorf("weights: want shape (%d), (1, %d) or (%d, %d) for %d tensors of %d tokens, got %v", k, k, tokens, k, k, tokens, a)
	}
	return x[0], nil
}

func (weightedSum) InPlace(i int) bool { return i == 1 }

// VJP makes one pass over all tensors for the weights' gradient, and one for each tensor's
// gradient, which it adds to the gradient from the tensor's other readers.
func (weightedSum) VJP(d *graph.Derivative) {
	terms := d.Inputs() - 1
	if d.Wants(0) {
		inputs := gorgonia.Nodes{d.Gradient()}
		for j := range terms {
			inputs = append(inputs, d.Input(1+j))
		}
		d.Make(0, sumWeightsGrad{weights: d.Signature(0)}, inputs...)
	}
	for j := range terms {
		if !d.Wants(1 + j) {
			continue
		}
		inputs := gorgonia.Nodes{d.Gradient(), d.Input(0)}
		if addend := d.TakeAccumulated(1 + j); addend != nil {
			inputs = append(inputs, addend)
		}
		d.Make(1+j, sumTermGrad{j: j}, inputs...)
	}
}

// sumParams returns the sizes of a weighted sum of k tensors like y.
func sumParams(weights, y graph.Signature) kernel.WeightedSumParams {
	k := weights.Shape[weights.Shape.Dims()-1]
	return kernel.WeightedSumParams{Tokens: y.Leading(), Width: y.Width(), Terms: k, Shared: weights.Size() == k}
}

func (k weightedSum) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWeightedSum, runWeightedSum)
}

func runWeightedSum[T kernel.Float](_ weightedSum, c graph.CallOf[T]) {
	s := graph.State[graph.Listed[kernel.WeightedSum[T], T]](c)
	s.Kernel.Forward(c.Pool(), c.Out(), c.In(0), s.Inputs(c, 1), sumParams(c.Signature(0), c.Result()))
}

// sumWeightsGrad computes the gradient of the weights. Inputs: dy, the tensors.
type sumWeightsGrad struct {
	graph.NoGradient
	weights graph.Signature
}

func (k sumWeightsGrad) String() string {
	return fmt.Sprintf("GradWeights of WeightedSum %v", k.weights.Shape)
}

func (sumWeightsGrad) Accumulates() bool { return true }

func (sumWeightsGrad) KeepsFloat32() bool { return true }

func (sumWeightsGrad) FLOPs(c graph.Cost) int {
	return 2 * sumParams(c.Result(), c.Signature(0)).Terms * c.Signature(0).Size()
}

func (k sumWeightsGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSumWeightsGrad, runSumWeightsGrad)
}

func runSumWeightsGrad[T kernel.Float](_ sumWeightsGrad, c graph.CallOf[T]) {
	s := graph.State[graph.Listed[kernel.WeightedSum[T], T]](c)
	s.Kernel.Weights(c.Pool(), c.Out(), c.In(0), s.Inputs(c, 1), c.Accumulate(), sumParams(c.Result(), c.Signature(0)))
}

// sumTermGrad computes the gradient of tensor j, a[j] dy. Inputs: dy, the weights and optionally
// the tensor's gradient from its other readers, to which the result is added.
type sumTermGrad struct {
	graph.NoGradient
	j int
}

func (k sumTermGrad) String() string { return fmt.Sprintf("GradX%d of WeightedSum", k.j) }

func (sumTermGrad) InPlace(i int) bool { return i == 0 || i == 2 }

func (sumTermGrad) FLOPs(c graph.Cost) int { return 2 * c.Result().Size() }

func (k sumTermGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSumTermGrad, runSumTermGrad)
}

func runSumTermGrad[T kernel.Float](k sumTermGrad, c graph.CallOf[T]) {
	graph.State[kernel.WeightedSum[T]](c).Term(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), k.j, sumParams(c.Signature(1), c.Result()))
}

package elementwise

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// multiwaySum computes several sums of the same tensors; its output packs all but the last, which
// its run computes too. Inputs: the weights, the tensors.
type multiwaySum struct{}

// MultiwaySum computes C sums of the same tensors in one pass over them, each with its own weights
// for each token, as MUDD connections make the inputs of a block from the outputs of all earlier
// ones (Xiao et al. 2025, arXiv 2502.12170, section 2.2):
//
//	y[c]_t = sum over j of a[t, c, j] x[j]_t
//
// x k tensors [T, ...]; weights a [T, C*k], C >= 2, with those of one sum side by side. packed [T,
// C-1, ...] has all sums but the last, which is [T, ...]. As in WeightedSum, a tensor is skipped
// where its weight is 0, so that weights of 0 and a single 1 give that tensor, bit for bit.
func MultiwaySum(b *graph.Builder, weights *gorgonia.Node, x ...*gorgonia.Node) (packed, last *gorgonia.Node) {
	inputs := append(gorgonia.Nodes{weights}, x...)
	packed = b.Apply(multiwaySum{}, inputs...)
	if packed == nil {
		return nil, nil
	}
	return packed, b.Secondary(multiwayLast{}, 0, packed, inputs...)
}

func (multiwaySum) String() string { return "MultiwaySum" }

func (multiwaySum) FLOPs(c graph.Cost) int {
	return 2 * c.Signature(0).Width() * c.Signature(1).Size()
}

func (multiwaySum) Infer(in []graph.Signature) (graph.Signature, error) {
	if len(in) < 2 {
		return graph.Signature{}, errors.New("want at least one tensor, got none")
	}
	a, x := in[0], in[1:]
	for j, s := range x {
		if s.Shape.Dims() < 2 || !s.Shape.Eq(x[0].Shape) {
			return graph.Signature{}, errors.Errorf("tensor %d: want shape [tokens, ...] as tensor 0, %v, got %v", j, x[0].Shape, s.Shape)
		}
	}
	k, tokens := len(x), x[0].Leading()
	if a.Shape.Dims() != 2 || a.Leading() != tokens || a.Width()%k != 0 || a.Width() < 2*k {
		return graph.Signature{}, errors.Errorf("weights: want shape (%d, sums * %d), two sums at least, for %d tensors of %d tokens, got %v", tokens, k, k,
			tokens, a.Shape)
	}
	packed := append(graph.WithTokens(tokens, a.Width()/k-1), x[0].Shape[1:]...)
	return graph.Signature{DType: x[0].DType, Shape: packed}, nil
}

// VJP makes the gradients of the weights and the tensors from the gradient of the packed sums
// alone. It is used if no gradient arrives at the last sum.
func (multiwaySum) VJP(d *graph.Derivative) { multiwayVJP(d, 0, d.Gradient(), nil) }

func (k multiwaySum) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMultiwaySum, runMultiwaySum)
}

func runMultiwaySum[T kernel.Float](_ multiwaySum, c graph.CallOf[T]) {
	s := graph.State[graph.Listed[kernel.MultiwaySum[T], T]](c)
	last, _ := c.SecondaryOut(0)
	s.Kernel.Forward(c.Pool(), c.Out(), last, c.In(0), s.Inputs(c, 1), multiwayParams(c.Signature(0), c.Signature(1), c.Inputs()-1))
}

// multiwayLast is the last sum, computed by multiwaySum's run. Inputs: the packed sums, the
// weights, the tensors.
type multiwayLast struct{ graph.MadeByPrimary }

func (multiwayLast) String() string { return "Last of MultiwaySum" }

// Bytes returns 0: its primary counts them.
func (multiwayLast) Bytes(graph.Cost) int { return 0 }

func (multiwayLast) Infer(in []graph.Signature) (graph.Signature, error) { return in[2], nil }

// Differentiable returns false for the packed sums: they are an input only to run first.
func (multiwayLast) Differentiable(i int) bool { return i > 0 }

// VJP makes the gradients of all sums in one pass. The gradients of the packed sums exist by then:
// the last sum is made right after them, before all their readers, so the reverse walk visits those
// readers first.
func (multiwayLast) VJP(d *graph.Derivative) {
	multiwayVJP(d, 1, d.TakeAccumulated(0), d.Gradient())
}

// multiwayVJP sets the gradients of the weights, which are input number first, and of the tensors
// after them, given the gradients of the packed sums and of the last one. Either may be nil.
func multiwayVJP(d *graph.Derivative, first int, packed, last *gorgonia.Node) {
	var gradients gorgonia.Nodes
	for _, g := range []*gorgonia.Node{packed, last} {
		if g != nil {
			gradients = append(gradients, g)
		}
	}
	terms := d.Inputs() - first - 1
	of := multiwayGradients{packed: packed != nil, last: last != nil}
	if d.Wants(first) {
		inputs := gradients[:len(gradients):len(gradients)]
		for i := first + 1; i < d.Inputs(); i++ {
			inputs = append(inputs, d.Input(i))
		}
		d.Make(first, multiwayWeightsGrad{multiwayGradients: of, weights: d.Signature(first)}, inputs...)
	}
	for i := first + 1; i < d.Inputs(); i++ {
		if !d.Wants(i) {
			continue
		}
		inputs := append(gradients[:len(gradients):len(gradients)], d.Input(first))
		if addend := d.TakeAccumulated(i); addend != nil {
			inputs = append(inputs, addend)
		}
		d.Make(i, multiwayTermGrad{multiwayGradients: of, j: i - first - 1, terms: terms}, inputs...)
	}
}

// multiwayGradients says which gradients of sums are inputs: they come first, in this order.
type multiwayGradients struct{ packed, last bool }

// count returns the number of these inputs.
func (k multiwayGradients) count() int {
	if k.packed && k.last {
		return 2
	}
	return 1
}

// multiwayGradientsIn returns the gradients; nil for one that is missing.
func multiwayGradientsIn[T kernel.Float](k multiwayGradients, c graph.CallOf[T]) (packed, last []T) {
	if k.packed {
		packed = c.In(0)
	}
	if k.last {
		last = c.In(k.count() - 1)
	}
	return packed, last
}

// multiwayParams returns the sizes of sums of the given number of tensors like x.
func multiwayParams(weights, x graph.Signature, terms int) kernel.MultiwaySumParams {
	return kernel.MultiwaySumParams{Tokens: x.Leading(), Width: x.Width(), Terms: terms, Ways: weights.Width() / terms}
}

// multiwayWeightsGrad computes the gradient of the weights. Inputs: the gradients of sums, the
// tensors.
type multiwayWeightsGrad struct {
	graph.NoGradient
	multiwayGradients
	weights graph.Signature
}

func (k multiwayWeightsGrad) String() string {
	return fmt.Sprintf("GradWeights of MultiwaySum %v(packed=%t, last=%t)", k.weights.Shape, k.packed, k.last)
}

func (multiwayWeightsGrad) Accumulates() bool { return true }

func (multiwayWeightsGrad) KeepsFloat32() bool { return true }

func (k multiwayWeightsGrad) FLOPs(c graph.Cost) int {
	return 2 * k.weights.Width() * c.Signature(k.count()).Size()
}

func (k multiwayWeightsGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMultiwayWeightsGrad, runMultiwayWeightsGrad)
}

func runMultiwayWeightsGrad[T kernel.Float](k multiwayWeightsGrad, c graph.CallOf[T]) {
	s := graph.State[graph.Listed[kernel.MultiwaySum[T], T]](c)
	packed, last := multiwayGradientsIn[T](k.multiwayGradients, c)
	x := s.Inputs(c, k.count())
	s.Kernel.Weights(c.Pool(), c.Out(), packed, last, x, c.Accumulate(), multiwayParams(k.weights, c.Signature(k.count()), len(x)))
}

// multiwayTermGrad computes the gradient of tensor j. Inputs: the gradients of sums, the weights
// and optionally the tensor's gradient from its other readers, to which the result is added.
type multiwayTermGrad struct {
	graph.NoGradient
	multiwayGradients
	j, terms int
}

func (k multiwayTermGrad) String() string {
	return fmt.Sprintf("GradX%d of MultiwaySum(packed=%t, last=%t)", k.j, k.packed, k.last)
}

func (k multiwayTermGrad) InPlace(i int) bool { return i == k.count()+1 }

func (k multiwayTermGrad) FLOPs(c graph.Cost) int {
	return 2 * c.Signature(k.count()).Width() / k.terms * c.Result().Size()
}

func (k multiwayTermGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMultiwayTermGrad, runMultiwayTermGrad)
}

func runMultiwayTermGrad[T kernel.Float](k multiwayTermGrad, c graph.CallOf[T]) {
	packed, last := multiwayGradientsIn[T](k.multiwayGradients, c)
	weights := c.Signature(k.count())
	graph.State[kernel.MultiwaySum[T]](c).Term(c.Pool(), c.Out(), packed, last, c.In(k.count()), c.In(k.count()+1),
		k.j, multiwayParams(weights, c.Result(), k.terms))
}

package shape

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// copies repeats each token's vector n times. Inputs: x and optionally a gradient of the result's
// shape, to which the result is added.
type copies struct{ n int }

// Copies makes a stream of n equal rows, with which hyper-connections start (Zhu et al. 2024, arXiv
// 2409.19606, algorithm 1):
//
//	H_t[i] = x_t,   i < n
//
// x [T, d...], H [T, n, d...].
func Copies(b *graph.Builder, x *gorgonia.Node, n int) *gorgonia.Node { return b.Apply(copies{n}, x) }

func (k copies) String() string { return fmt.Sprintf("Copies(n=%d)", k.n) }

func (k copies) Infer(in []graph.Signature) (graph.Signature, error) {
	if k.n < 1 {
		return graph.Signature{}, errors.Errorf("n: want at least 1, got %d", k.n)
	}
	x := in[0].Shape
	if x.Dims() < 2 {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, ...], got %v", x)
	}
	return graph.Signature{DType: in[0].DType, Shape: append(graph.WithTokens(x[0], k.n), x[1:]...)}, nil
}

func (k copies) InPlace(i int) bool { return i == 1 }

func (k copies) VJP(d *graph.Derivative) {
	d.MakeAccumulating(sumCopies{}, d.Gradient())
	if d.Inputs() > 1 {
		d.Set(1, d.Gradient())
	}
}

func (k copies) Run(c *graph.Call) {
	graph.Dispatch(c, k, runCopies, runCopies)
}

func runCopies[T kernel.Float](k copies, c graph.CallOf[T]) {
	graph.State[kernel.Copies[T]](c).Spread(c.Pool(), c.Out(), c.In(0), c.In(1), c.Signature(0).Leading(), k.n, c.Signature(0).Width())
}

// sumCopies sums the rows of each token. Inputs: the stream and optionally a gradient of the
// result's shape, to which the result is added.
type sumCopies struct{}

// SumCopies sums the rows of a stream of several rows, with which hyper-connections end (Zhu et al.
// 2024, arXiv 2409.19606, algorithm 1):
//
//	y_t = sum over i of H_t[i]
//
// h [T, n, d...], y [T, d...].
func SumCopies(b *graph.Builder, h *gorgonia.Node) *gorgonia.Node { return b.Apply(sumCopies{}, h) }

func (sumCopies) String() string { return "SumCopies" }

func (sumCopies) Infer(in []graph.Signature) (graph.Signature, error) {
	h := in[0].Shape
	if h.Dims() < 3 {
		return graph.Signature{}, errors.Errorf("stream: want shape [tokens, n, ...], got %v", h)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(h[0], h[2:]...)}, nil
}

func (k sumCopies) VJP(d *graph.Derivative) {
	d.MakeAccumulating(copies{d.Signature(0).Shape[1]}, d.Gradient())
	if d.Inputs() > 1 {
		d.Set(1, d.Gradient())
	}
}

func (k sumCopies) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSumCopies, runSumCopies)
}

func runSumCopies[T kernel.Float](_ sumCopies, c graph.CallOf[T]) {
	h := c.Signature(0)
	graph.State[kernel.Copies[T]](c).Sum(c.Pool(), c.Out(), c.In(0), c.In(1), h.Leading(), h.Shape[1], c.Result().Width())
}

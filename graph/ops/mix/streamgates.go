package mix

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// streamGates is the op of SinkhornCoefficients, PermutationCoefficients and KroneckerCoefficients:
// from z [tokens, columns], alpha [3] and bias [columns] it computes c [tokens, n, n+2].
type streamGates struct {
	n          int
	carry      kernel.Carry
	iterations int // iterations of Sinkhorn
}

func (k streamGates) params(z graph.Signature) kernel.StreamGatesParams {
	return kernel.StreamGatesParams{Tokens: z.Leading(), N: k.n, Carry: k.carry, Iterations: k.iterations}
}

// columnsOf returns the width of z for n streams.
func columnsOf(carry kernel.Carry, n int) int {
	return kernel.StreamGatesParams{N: n, Carry: carry}.Columns()
}

// name returns the op's name.
func (k streamGates) name() string {
	switch k.carry {
	case kernel.Sinkhorn:
		return "SinkhornCoefficients"
	case kernel.Permutations:
		return "PermutationCoefficients"
	default:
		return "KroneckerCoefficients"
	}
}

func (k streamGates) String() string {
	if k.carry == kernel.Sinkhorn {
		return fmt.Sprintf("%s(n=%d, iterations=%d)", k.name(), k.n, k.iterations)
	}
	return fmt.Sprintf("%s(n=%d)", k.name(), k.n)
}

func (k streamGates) Infer(in []graph.Signature) (graph.Signature, error) {
	z, alpha, bias, columns := in[0], in[1], in[2], columnsOf(k.carry, k.n)
	if z.Shape.Dims() != 2 || z.Width() != columns {
		return graph.Signature{}, errors.Errorf("z: want shape [tokens, %d] for %d streams, got %v", columns, k.n, z.Shape)
	}
	if alpha.Shape.Dims() != 1 || alpha.Size() != 3 {
		return graph.Signature{}, errors.Errorf("alpha: want shape (3), of pre, post and res, got %v", alpha.Shape)
	}
	if bias.Shape.Dims() != 1 || bias.Size() != columns {
		return graph.Signature{}, errors.Errorf("bias: want shape (%d) for %d streams, got %v", columns, k.n, bias.Shape)
	}
	return graph.Signature{DType: z.DType, Shape: graph.WithTokens(z.Leading(), k.n, k.n+2)}, nil
}

func (streamGates) KeepsFloat32() bool { return true }

func (k streamGates) Run(c *graph.Call) {
	graph.Dispatch(c, k, runStreamGates, runStreamGates)
}

func runStreamGates[T kernel.Float](k streamGates, c graph.CallOf[T]) {
	graph.State[kernel.StreamGates[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), k.params(c.Signature(0)))
}

func (k streamGates) VJP(d *graph.Derivative) {
	primary := d.Make(0, streamGatesGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	d.SetFloat32(1, primary, 0, "GradAlpha of "+k.name())
	d.SetFloat32(2, primary, 1, "GradBias of "+k.name())
}

// streamGatesGrad computes dz; its secondaries are dalpha and dbias. Inputs: dc, z, alpha, bias.
type streamGatesGrad struct {
	graph.NoGradient
	of streamGates
}

func (k streamGatesGrad) String() string { return "GradZ of " + k.of.String() }

func (streamGatesGrad) KeepsFloat32() bool { return true }

func (k streamGatesGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runStreamGatesGrad, runStreamGatesGrad)
}

func runStreamGatesGrad[T kernel.Float](k streamGatesGrad, c graph.CallOf[T]) {
	dalpha, accumulateAlpha := c.SecondaryOut(0)
	dbias, accumulateBias := c.SecondaryOut(1)
	graph.State[kernel.StreamGates[T]](c).Backward(c.Pool(), c.Out(), dalpha, dbias, c.In(0), c.In(1), c.In(2), c.In(3),
		accumulateAlpha, accumulateBias, k.of.params(c.Signature(1)))
}

// wantStreams checks an op's number of streams before sizes are computed from it.
func wantStreams(b *graph.Builder, op string, n, most int) bool {
	if b.Err() == nil && (n < 1 || n > most) {
		b.Fail(errors.Errorf("graph: %s: n: want 1 to %d streams, got %d", op, most, n))
	}
	return b.Err() == nil
}

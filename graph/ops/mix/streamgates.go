package mix

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// streamGates is the op of SinkhornCoefficients, PermutationCoefficients, KroneckerCoefficients and
// SigmoidCoefficients: from z [tokens, columns], alpha [groups] and bias [columns] it computes c
// [tokens, n, coefficients of a row].
type streamGates struct {
	n          int
	carry      kernel.Carry
	iterations int     // iterations of Sinkhorn
	post, eps  float64 // of SigmoidCoefficients
	fixed      bool    // bias is the only input: c [n, coefficients of a row] is the same for all tokens
}

func (k streamGates) params(in graph.Signature) kernel.StreamGatesParams {
	p := kernel.StreamGatesParams{Tokens: in.Leading(), N: k.n, Carry: k.carry, Iterations: k.iterations, Post: k.post, Eps: k.eps}
	if k.fixed {
		p.Tokens = 1
	}
	return p
}

// inputs returns the numbers of the inputs z, alpha and bias; -1 for one that is missing.
func (k streamGates) inputs() (z, alpha, bias int) {
	if k.fixed {
		return -1, -1, 0
	}
	return 0, 1, 2
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
	case kernel.Kronecker:
		return "KroneckerCoefficients"
	}
	return "SigmoidCoefficients"
}

func (k streamGates) String() string {
	if k.carry == kernel.Sinkhorn {
		return fmt.Sprintf("%s(n=%d, iterations=%d)", k.name(), k.n, k.iterations)
	}
	if k.carry >= kernel.Unmixed {
		return fmt.Sprintf("%s(n=%d, groups=%d, factor=%g, eps=%g, fixed=%t)", k.name(), k.n, k.params(graph.Signature{}).Groups(), k.post, k.eps, k.fixed)
	}
	return fmt.Sprintf("%s(n=%d)", k.name(), k.n)
}

func (k streamGates) Infer(in []graph.Signature) (graph.Signature, error) {
	bias, columns, of := in[len(in)-1], columnsOf(k.carry, k.n), k.params(in[0])
	var err error
	if bias.Shape.Dims() != 1 || bias.Size() != columns {
		err = errors.Errorf("bias: want shape (%d) for %d streams, got %v", columns, k.n, bias.Shape)
	}
	if k.fixed {
		return graph.Signature{DType: bias.DType, Shape: graph.WithTokens(k.n, of.Row())}, err
	}
	z, alpha := in[0], in[1]
	if z.Shape.Dims() != 2 || z.Width() != columns {
		return graph.Signature{}, errors.Errorf("z: want shape [tokens, %d] for %d streams, got %v", columns, k.n, z.Shape)
	}
	if groups := of.Groups(); alpha.Shape.Dims() != 1 || alpha.Size() != groups {
		names := []string{"pre", "pre and post", "pre, post and res"}
		return graph.Signature{}, errors.Errorf("alpha: want shape (%d), of %s, got %v", groups, names[groups-1], alpha.Shape)
	}
	return graph.Signature{DType: z.DType, Shape: graph.WithTokens(z.Leading(), k.n, of.Row())}, err
}

func (streamGates) KeepsFloat32() bool { return true }

func (k streamGates) Run(c *graph.Call) {
	graph.Dispatch(c, k, runStreamGates, runStreamGates)
}

func runStreamGates[T kernel.Float](k streamGates, c graph.CallOf[T]) {
	z, alpha, bias := k.inputs()
	graph.State[kernel.StreamGates[T]](c).Forward(c.Pool(), c.Out(), c.In(z), c.In(alpha), c.In(bias), k.params(c.Signature(0)))
}

func (k streamGates) VJP(d *graph.Derivative) {
	if k.fixed {
		d.Make(0, streamGatesGrad{of: k}, d.Gradient(), d.Input(0))
		return
	}
	primary := d.Make(0, streamGatesGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	d.SetFloat32(1, primary, 0, "GradAlpha of "+k.name())
	d.SetFloat32(2, primary, 1, "GradBias of "+k.name())
}

// streamGatesGrad computes dz; its secondaries are dalpha and dbias. Inputs: dc, z, alpha, bias.
// For fixed coefficients it computes dbias alone, from dc and bias.
type streamGatesGrad struct {
	graph.NoGradient
	of streamGates
}

func (k streamGatesGrad) String() string { return "GradZ of " + k.of.String() }

func (streamGatesGrad) KeepsFloat32() bool { return true }

func (k streamGatesGrad) Accumulates() bool { return k.of.fixed }

func (k streamGatesGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runStreamGatesGrad, runStreamGatesGrad)
}

func runStreamGatesGrad[T kernel.Float](k streamGatesGrad, c graph.CallOf[T]) {
	z, alpha, bias := k.of.inputs()
	run, p := graph.State[kernel.StreamGates[T]](c), k.of.params(c.Signature(1))
	if k.of.fixed {
		run.Backward(c.Pool(), nil, nil, c.Out(), c.In(0), nil, nil, c.In(1+bias), false, c.Accumulate(), p)
		return
	}
	dalpha, accumulateAlpha := c.SecondaryOut(0)
	dbias, accumulateBias := c.SecondaryOut(1)
	run.Backward(c.Pool(), c.Out(), dalpha, dbias, c.In(0), c.In(1+z), c.In(1+alpha), c.In(1+bias), accumulateAlpha, accumulateBias, p)
}

// wantStreams checks an op's number of streams before sizes are computed from it.
func wantStreams(b *graph.Builder, op string, n, most int) bool {
	if b.Err() == nil && (n < 1 || n > most) {
		b.Fail(errors.Errorf("graph: %s: n: want 1 to %d streams, got %d", op, most, n))
	}
	return b.Err() == nil
}

package mix

import (
	"github.com/pkg/errors"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// streamGates is what SinkhornCoefficients, PermutationCoefficients and KroneckerCoefficients share: from z
// [tokens, columns], alpha [3] and bias [columns] they make c [tokens, n, n+2].
type streamGates struct {
	n          int
	carry      kernel.Carry
	iterations int // of Sinkhorn
}

func (k streamGates) params(z graph.Signature) kernel.StreamGatesParams {
	return kernel.StreamGatesParams{Tokens: z.Leading(), N: k.n, Carry: k.carry, Iterations: k.iterations}
}

// columnsOf is the width of z for n streams.
func columnsOf(carry kernel.Carry, n int) int {
	return kernel.StreamGatesParams{N: n, Carry: carry}.Columns()
}

func (k streamGates) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := graph.WantFloats(in); err != nil {
		return graph.Signature{}, err
	}
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

func (k streamGates) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runStreamGates[float32], runStreamGates[float64])
}

func runStreamGates[T kernel.Float](k streamGates, c *graph.Call) error {
	graph.State[kernel.StreamGates[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), k.params(c.Signature(0)))
	return nil
}

// gradients makes the primary, grad, and its secondaries, for the op of that name.
func (k streamGates) gradients(d *graph.Derivative, name string, grad graph.Primitive) {
	primary := d.Apply(grad, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	d.Set(0, primary)
	for i, what := range []string{"GradAlpha", "GradBias"} {
		if d.Wants(1 + i) {
			d.SetFloat32(1+i, primary, i, what+" of "+name)
		}
	}
}

// streamGatesGrad is what the gradients dz share. Inputs: dc, z, alpha, bias; secondaries:
// dalpha, dbias.
type streamGatesGrad struct {
	graph.NoGradient
	of streamGates
}

func (streamGatesGrad) Infer(in []graph.Signature) (graph.Signature, error) { return in[1], nil }

func (streamGatesGrad) KeepsFloat32() bool { return true }

func (k streamGatesGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runStreamGatesGrad[float32], runStreamGatesGrad[float64])
}

func runStreamGatesGrad[T kernel.Float](k streamGatesGrad, c *graph.Call) error {
	dalpha, accumulateAlpha := graph.SecondaryOut[T](c, 0)
	dbias, accumulateBias := graph.SecondaryOut[T](c, 1)
	graph.State[kernel.StreamGates[T]](c).Backward(c.Pool(), graph.Out[T](c), dalpha, dbias, graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), graph.In[T](c, 3),
		accumulateAlpha, accumulateBias, k.of.params(c.Signature(1)))
	return nil
}

// wantStreams checks the number of streams of an op before its sizes are made of it.
func wantStreams(b *graph.Builder, op string, n, most int) bool {
	if b.Err() == nil && (n < 1 || n > most) {
		b.Fail(errors.Errorf("graph: %s: n: want 1 to %d streams, got %d", op, most, n))
	}
	return b.Err() == nil
}

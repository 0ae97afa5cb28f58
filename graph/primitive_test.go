package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/loss"
)

// power is an op of another package: y = x^n, elementwise, for integers n >= 1.
type power struct{ n int }

func (p power) String() string { return fmt.Sprintf("Power(%d)", p.n) }

func (p power) Infer(in []graph.Signature) (graph.Signature, error) {
	if len(in) != 1 {
		return graph.Signature{}, errors.Errorf("want one input, got %v", in)
	}
	return in[0], nil
}

func (p power) VJP(d *graph.Derivative) {
	d.Make(0, powerGrad{n: p.n}, d.Input(0), d.Gradient())
}

func (p power) Run(c *graph.Call) {
	graph.Elementwise(c, powers[float32], powers[float64], float64(p.n))
}

func powers[T kernel.Float](x kernel.Elements[T]) {
	for i, v := range x.In[0] {
		x.Out[0][i] = T(math.Pow(float64(v), x.Numbers[0]))
	}
}

// powerGrad computes dx = n x^(n-1) dy. Inputs: x, dy.
type powerGrad struct {
	graph.NoGradient
	n int
}

func (p powerGrad) String() string { return fmt.Sprintf("GradX of Power(%d)", p.n) }

func (p powerGrad) Run(c *graph.Call) {
	graph.Elementwise(c, powerSlopes[float32], powerSlopes[float64], float64(p.n))
}

func powerSlopes[T kernel.Float](x kernel.Elements[T]) {
	n, dy := x.Numbers[0], x.In[1]
	for i, v := range x.In[0] {
		x.Out[0][i] = T(n*math.Pow(float64(v), n-1)) * dy[i]
	}
}

// many is an op of more inputs than Elementwise takes.
type many struct{ graph.NoGradient }

func (many) String() string { return "Many" }

func (many) Run(c *graph.Call) { graph.Elementwise(c, powers[float32], powers[float64]) }

func TestElementwiseOfTooManyInputs(t *testing.T) {
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{2, 5}})
		return graph.Roots{Outputs: gorgonia.Nodes{b.Apply(many{}, x, x, x, x, x, x)}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	require.ErrorContains(t, p.Run(graph.RunOptions{}), "want at most 5 inputs, 3 secondaries and 2 numbers of an element-wise op, got 6, 0 and 0")
}

// TestElementwiseOfOtherSizes: an input with fewer entries than the output is an error of the run.
func TestElementwiseOfOtherSizes(t *testing.T) {
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		x, y := b.Param(graph.ParamSpec{Name: "x", Shape: []int{2, 5}}), b.Param(graph.ParamSpec{Name: "y", Shape: []int{5}})
		return graph.Roots{Outputs: gorgonia.Nodes{b.Apply(many{}, x, y)}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	require.ErrorContains(t, p.Run(graph.RunOptions{}), "input 1: want 10 entries as the output of an element-wise op, got 5")
}

func TestSameShape(t *testing.T) {
	a, b := graph.Signature{Shape: tensor.Shape{2, 5}}, graph.Signature{Shape: tensor.Shape{5}}
	got, err := graph.SameShape([]graph.Signature{a, a}, "x", "y")
	require.NoError(t, err)
	require.Equal(t, a, got)
	_, err = graph.SameShape([]graph.Signature{a, b}, "x", "y")
	require.EqualError(t, err, "y: want shape (2, 5) as x, got (5)")
	_, err = graph.SameShape([]graph.Signature{a}, "x", "y")
	require.EqualError(t, err, "want the inputs x, y, got 1 inputs")
}

// powerProgram computes the mean -log p of a model made of one of our ops, one of another package
// and another of ours, over a parameter that all of them read.
func powerProgram(t *testing.T, dt tensor.Dtype, recompute graph.Recompute) *graph.Program {
	t.Helper()
	o := graph.ProgramOptions{Gradients: true, Recompute: recompute, Options: graph.Options{DType: dt, Threads: 1, Seed: 3}}
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{2, 5}, Init: graph.Initializer{Std: 1}})
		var y *gorgonia.Node
		b.Block(func() { y = b.Apply(power{n: 3}, elementwise.Scale(b, x, 0.5)) })
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{5, 7}, Init: graph.Initializer{Std: 1}})
		return graph.Roots{Loss: loss.CrossEntropy(b, y, w, b.Input("targets", tensor.Int32, 2), loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	copy(p.Ints("targets"), []int32{4, 1})
	return p
}

// TestAnOpOfAnotherPackageIsDifferentiated compares its gradient with central differences, in
// float64.
func TestAnOpOfAnotherPackageIsDifferentiated(t *testing.T) {
	for _, recompute := range []graph.Recompute{graph.RecomputeNone, graph.RecomputeBlock} {
		p := powerProgram(t, tensor.Float64, recompute)
		loss := func() float64 {
			require.NoError(t, p.Run(graph.RunOptions{}))
			v, err := graph.Scalar(p.Roots().Loss)
			require.NoError(t, err)
			return v
		}
		loss()
		x := p.Store().Param("x")
		got := append([]float64(nil), x.Grad.Float64s()...)
		values := x.Value.Float64s()
		for i := range values {
			const h = 1e-6
			at := values[i]
			values[i] = at + h
			above := loss()
			values[i] = at - h
			below := loss()
			values[i] = at
			assert.InDelta(t, (above-below)/(2*h), got[i], 1e-8, "recompute %s, entry %d", recompute, i)
		}
	}
}

// TestAnOpOfAnotherPackageRunsInFloat32 compares it with float64 on the same values.
func TestAnOpOfAnotherPackageRunsInFloat32(t *testing.T) {
	single, double := powerProgram(t, tensor.Float32, ""), powerProgram(t, tensor.Float64, "")
	for _, name := range []string{"x", "w"} {
		for i, v := range single.Store().Param(name).Value.Float32s() {
			double.Store().Param(name).Value.Float64s()[i] = float64(v)
		}
	}
	require.NoError(t, single.Run(graph.RunOptions{}))
	require.NoError(t, double.Run(graph.RunOptions{}))
	for i, want := range double.Store().Param("x").Grad.Float64s() {
		assert.InDelta(t, want, float64(single.Store().Param("x").Grad.Float32s()[i]), 1e-5)
	}
}

// TestAnOpOfAnotherPackageIsChecked: an error of its Infer becomes the builder's error, with the
// op's name, and so do integer inputs that it does not read.
func TestAnOpOfAnotherPackageIsChecked(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	x := b.Input("x", tensor.Float32, 3)
	assert.Nil(t, b.Apply(power{n: 2}, x, x))
	assert.ErrorContains(t, b.Err(), "graph: Power(2): want one input, got [float32 (3) float32 (3)]")
	b = graph.On(gorgonia.NewGraph(), graph.Options{})
	assert.Nil(t, b.Apply(power{n: 2}, b.Input("ids", tensor.Int32, 3)))
	assert.ErrorContains(t, b.Err(), "graph: Power(2): input 0: want float32 or float64, got int32")
}

package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// arrays names the arrays of a formula.
func arrays(names ...string) (list []kernel.FormulaArray) {
	for _, name := range names {
		list = append(list, kernel.FormulaArray{Name: name})
	}
	return list
}

// difference computes y = n x - z, as a module of its own would.
func difference() *kernel.Formula {
	return &kernel.Formula{Name: "Difference", Results: arrays("y"), Inputs: arrays("x", "z"), Numbers: 1,
		Gradients: []func() *kernel.Formula{differenceGradient}, Single: differences[float32], Double: differences[float64]}
}

func differenceGradient() *kernel.Formula {
	return &kernel.Formula{Name: "DifferenceGradient", Results: arrays("dx", "dz"), Inputs: arrays("dy"), Numbers: 1,
		Single: differenceSlopes[float32], Double: differenceSlopes[float64]}
}

func differences[T kernel.Float](x kernel.Elements[T]) {
	for i, v := range x.In[0] {
		x.Out[0][i] = T(x.Numbers[0])*v - x.In[1][i]
	}
}

func differenceSlopes[T kernel.Float](x kernel.Elements[T]) {
	for i, dy := range x.In[0] {
		if x.Out[1] != nil {
			x.Out[1][i] = -dy
		}
		x.Out[0][i] = T(x.Numbers[0]) * dy
	}
}

// TestFormulaOfAnotherPackage runs and differentiates it.
func TestFormulaOfAnotherPackage(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1})
	param := func(name string) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: []int{2, 3}, Init: graph.Initializer{Std: 1}})
	}
	x, z := param("x"), param("z")
	y := b.Formula(difference(), gorgonia.Nodes{x, z}, 2.5)[0]
	require.NoError(t, b.Err())
	loss := gorgonia.Must(gorgonia.Sum(y))
	grads, err := gorgonia.Grad(loss, x, z)
	require.NoError(t, err)
	machine := gorgonia.NewTapeMachine(x.Graph())
	defer machine.Close()
	require.NoError(t, machine.RunAll())
	a, c, got := x.Value().Data().([]float32), z.Value().Data().([]float32), y.Value().Data().([]float32)
	for i := range got {
		require.InDelta(t, 2.5*a[i]-c[i], got[i], 1e-6)
	}
	require.Equal(t, []float32{2.5, 2.5, 2.5, 2.5, 2.5, 2.5}, grads[0].Value().Data())
	require.Equal(t, []float32{-1, -1, -1, -1, -1, -1}, grads[1].Value().Data())
}

// TestFormulaErrors: what does not fit is named when the node is made.
func TestFormulaErrors(t *testing.T) {
	change := func(f func(*kernel.Formula)) *kernel.Formula {
		k := difference()
		f(k)
		return k
	}
	gradient := func(g *kernel.Formula) *kernel.Formula {
		return change(func(k *kernel.Formula) { k.Gradients = []func() *kernel.Formula{func() *kernel.Formula { return g }} })
	}
	type attempt struct {
		f       *kernel.Formula
		inputs  int
		numbers []float64
	}
	of := func(f *kernel.Formula) attempt { return attempt{f, 2, []float64{2}} }
	first := kernel.FormulaArray{Name: "z", Addend: true}
	for want, c := range map[string]attempt{
		"graph: Difference(2): want 2 inputs and 1 numbers, got 1 and 1": {difference(), 1, []float64{2}},
		"graph: Difference: want 2 inputs and 1 numbers, got 2 and 0":    {difference(), 2, nil},
		"graph: Difference(2): z: want shape (2, 3) as x, got (3)":       {difference(), 3, []float64{2}},
		"graph: Difference(2): want a formula with results and functions for float32 and float64": of(
			change(func(k *kernel.Formula) { k.Double = nil })),
		"graph: Difference(2): G: want inputs named after the formula's or dy, got w": of(
			gradient(&kernel.Formula{Name: "G", Numbers: 1, Inputs: arrays("dy", "w"), Results: arrays("dx")})),
		"graph: Difference(2): G: want results named d and an input of the formula, got dw": of(
			gradient(&kernel.Formula{Name: "G", Numbers: 1, Inputs: arrays("dy"), Results: arrays("dw")})),
		"graph: Difference(2): G: want the formula's 1 numbers, got 0": of(
			gradient(&kernel.Formula{Name: "G", Inputs: arrays("dy"), Results: arrays("dx")})),
		"graph: Difference(2): G: want results named d and an input of the formula, got dy": of(
			gradient(&kernel.Formula{Name: "G", Numbers: 1, Inputs: arrays("dy"), Results: arrays("dy")})),
		"graph: Difference(2): G: want the addend z as the last input, got number 1 of 2": of(
			gradient(&kernel.Formula{Name: "G", Numbers: 1, Inputs: append([]kernel.FormulaArray{first}, arrays("dy")...), Results: arrays("dx")})),
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		inputs := gorgonia.Nodes{b.Param(graph.ParamSpec{Name: "x", Shape: []int{2, 3}})}
		if c.inputs > 1 {
			shape := []int{2, 3}
			if c.inputs == 3 {
				shape = []int{3}
			}
			inputs = append(inputs, b.Param(graph.ParamSpec{Name: "z", Shape: shape}))
		}
		assert.Nil(t, b.Formula(c.f, inputs, c.numbers...)[0])
		assert.EqualError(t, b.Err(), want)
	}
}

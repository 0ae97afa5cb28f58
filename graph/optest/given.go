package optest

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// Given are the shape of an input without a gradient, whose values are always the same.
type Given []int

// Values returns the values, of which some are negative.
func (g Given) Values() []float64 {
	values := make([]float64, Product(g))
	for i := range values {
		values[i] = math.Sin(float64(3*i + 1))
	}
	return values
}

// Node returns the input.
func (g Given) Node(b *graph.Builder) *gorgonia.Node {
	value := tensor.New(tensor.Of(b.DType()), tensor.WithShape(g...))
	if err := graph.SetFloat64s(value, g.Values()); err != nil {
		b.Fail(err)
	}
	return gorgonia.NewConstant(value, gorgonia.WithName("given"), gorgonia.In(b.Graph()))
}

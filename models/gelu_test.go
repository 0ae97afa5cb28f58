package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestGeluInAModel compares both forms of GELU inside a model with their equations.
func TestGeluInAModel(t *testing.T) {
	for form, gelu := range map[string]func(x float64) float64{
		models.GeluExact: func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) },
		models.GeluTanh: func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		},
	} {
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-14, tensor.Float32: 1e-6} {
			c := modeltest.Resolve(t, tinyMatrix(func(c *models.Config) { c.Gelu = form }))
			const hidden, activations = "blocks.1.feedforward.hidden", "blocks.1.feedforward.activations"
			p := modeltest.Compile(t, c, modeltest.PerturbedStore(t, c, dt), modeltest.Setup{Hooks: graph.Hooks{hidden: nil, activations: nil}})
			p.On(t, modeltest.RandomBatch(c, 2, c.Seq, 1), graph.RunOptions{})
			in, err := p.Hooked(hidden)
			require.NoError(t, err)
			out, err := p.Hooked(activations)
			require.NoError(t, err)
			got := graph.Float64s(out)
			largest := 0.0
			for i, x := range graph.Float64s(in) {
				require.InDelta(t, gelu(x), got[i], tolerance*(1+math.Abs(x)), "%s, %v, gelu(%g)", form, dt, x)
				largest = max(largest, math.Abs(x))
			}
			require.Greater(t, largest, 1.0, "the inputs should reach where both forms differ")
		}
	}
}

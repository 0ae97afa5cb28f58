package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

func hadamardCases() []optest.Case {
	make := func(x, gain []int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("Hadamard/%v %v", x, gain), Floats: [][]int{x, gain},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Hadamard(b, x[0], x[1]) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return wantHadamard(v[0], v[1]) }}
	}
	return []optest.Case{
		make([]int{3, 5}, []int{5}), make([]int{2, 3, 5}, []int{5}), make([]int{2, 3, 4}, []int{3, 4}), make([]int{1, 1}, []int{1}),
		make([]int{2, 133}, []int{133}),
		{Name: "AddScaled", Floats: [][]int{{2, 3, 5}, {2, 3, 5}, {5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.AddScaled(b, x[0], x[1], x[2])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantAdd([][]float64{v[0], wantHadamard(v[1], v[2])}, nil)
			}},
		{Name: "AddScaled/to itself", Floats: [][]int{{7, 133}, {133}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.AddScaled(b, x[0], x[0], x[1])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantAdd([][]float64{v[0], wantHadamard(v[0], v[1])}, nil)
			}},
		{Name: "Hadamard/by two gains", Floats: [][]int{{3, 5}, {5}, {5}}, // one gradient is added to the other
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.Add(elementwise.Hadamard(b, x[0], x[1]), elementwise.Gelu(b, elementwise.Hadamard(b, x[0], x[2]), false))
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantAdd([][]float64{wantHadamard(v[0], v[1]), optest.WantGelu(wantHadamard(v[0], v[2]), false)}, nil)
			}},
	}
}

func wantHadamard(x, gain []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * gain[i%len(gain)]
	}
	return y
}

// TestHadamardShapes checks that the op refuses wrong shapes.
func TestHadamardShapes(t *testing.T) {
	for _, shape := range [][]int{{3}, {15}, {4, 3, 5}, {4, 5}} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		x := b.Input("x", tensor.Float32, 4, 3, 5)
		require.Nil(t, elementwise.Hadamard(b, x, b.Input(fmt.Sprint(shape), tensor.Float32, shape...)))
		optest.RequireLine(t, b.Err(), fmt.Sprintf("gain: want the shape of the last axes of x (4, 3, 5), without the tokens', got %v", tensor.Shape(shape)))
	}
}

package graph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func hadamardCases() []opCase {
	make := func(x, gain []int) opCase {
		return opCase{name: fmt.Sprintf("Hadamard/%v %v", x, gain), floats: [][]int{x, gain},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Hadamard(x[0], x[1]) },
			want:  func(v [][]float64, _ [][]int32) []float64 { return wantHadamard(v[0], v[1]) }}
	}
	return []opCase{
		make([]int{3, 5}, []int{5}), make([]int{2, 3, 5}, []int{5}), make([]int{2, 3, 4}, []int{3, 4}), make([]int{1, 1}, []int{1}),
		make([]int{2, 133}, []int{133}),
		{name: "Hadamard/by two gains", floats: [][]int{{3, 5}, {5}, {5}}, // one gradient takes over the other's
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.Add(b.Hadamard(x[0], x[1]), b.Gelu(b.Hadamard(x[0], x[2]), false))
			},
			want: func(v [][]float64, _ [][]int32) []float64 {
				return wantAdd([][]float64{wantHadamard(v[0], v[1]), wantGelu(wantHadamard(v[0], v[2]), false)}, nil)
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

// TestHadamardShapes lists the shapes that the op refuses.
func TestHadamardShapes(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{})
	x := b.Input("x", tensor.Float32, 4, 3, 5)
	for _, shape := range [][]int{{3}, {15}, {4, 3, 5}, {4, 5}} {
		b.err = nil
		require.Nil(t, b.Hadamard(x, b.Input(fmt.Sprint(shape), tensor.Float32, shape...)))
		requireLine(t, b.Err(), fmt.Sprintf("gain: want the shape of the last axes of x (4, 3, 5), without the tokens', got %v", tensor.Shape(shape)))
	}
}

//go:build cuda

package ops_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceLinear has sizes larger than a tile of the matrix products.
func TestDeviceLinear(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		w := []int{72, 41}
		if transposed {
			w = []int{41, 72}
		}
		c := optest.Case{Floats: [][]int{{67, 72}, w},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return linear.Map(b, x[0], x[1], linear.Options{Transposed: transposed, Scale: 0.7})
			}}
		t.Run(fmt.Sprintf("transposed=%t", transposed), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
		c = optest.Case{Floats: [][]int{{67, 41}, {41, 90}, w},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				_, y := linear.MapActivated(b, x[0], elementwise.Scale(b, x[1], 1/math.Sqrt(41)), kernel.Gelu(transposed))
				return linear.Map(b, y, x[2], linear.Options{Transposed: transposed})
			}}
		if c.Floats[2] = []int{90, 33}; transposed {
			c.Floats[2] = []int{33, 90}
		}
		t.Run(fmt.Sprintf("after GELU transposed=%t", transposed), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
	}
	c := optest.Case{Floats: [][]int{{67, 41}, {41, 90}, {41, 90}, {90, 33}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			scaled := func(w *gorgonia.Node) *gorgonia.Node { return elementwise.Scale(b, w, 1/math.Sqrt(41)) }
			_, _, y := linear.MapSwiGLU(b, x[0], scaled(x[1]), scaled(x[2]))
			return linear.Map(b, y, x[3], linear.Options{})
		}}
	t.Run("after SwiGLU", func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
}

// TestDeviceLinearEpilogues: in bf16, products whose rows are multiples of 16 bytes compute GELU
// and its gradient themselves.
func TestDeviceLinearEpilogues(t *testing.T) {
	for _, test := range []struct {
		hidden    int
		precision graph.Precision
		function  kernel.Activation
		fused     bool
	}{{96, graph.BF16, kernel.GeluTanh, true}, {92, graph.BF16, kernel.GeluTanh, false}, {96, graph.TF32, kernel.GeluTanh, false}, {96, graph.BF16, kernel.GeluExact, false}} {
		c := optest.Case{Floats: [][]int{{67, 40}, {40, test.hidden}, {test.hidden, 40}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				_, y := linear.MapActivated(b, x[0], elementwise.Scale(b, x[1], 1/math.Sqrt(40)), test.function)
				return linear.Map(b, y, x[2], linear.Options{})
			}}
		optest.CheckInAllPrecisions(t, c)
		p := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: test.precision}, false)
		p.Run(t, graph.RunOptions{Profile: true})
		require.NoError(t, p.Program.EndProfile())
		var names []string
		for _, k := range p.Program.Kernels() {
			names = append(names, k.Name)
		}
		all := strings.Join(names, "; ")
		for _, part := range []string{"then GELU;", "then GELU's derivative"} {
			require.Equal(t, test.fused, strings.Contains(all+";", part), "%+v: %s", test, all)
		}
		require.Equal(t, test.fused, !strings.Contains(all, "activation_"), "%+v: %s", test, all)
	}
}

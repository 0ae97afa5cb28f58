//go:build cuda

package ops_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceSinkhornOfFarLogits has logits hundreds apart, so that some exponentials vanish: the
// backward pass must not divide by them.
func TestDeviceSinkhornOfFarLogits(t *testing.T) {
	for _, n := range []int{4, 6, 9} {
		columns := n*n + 2*n
		c := optest.Case{Name: fmt.Sprintf("n=%d", n), Floats: [][]int{{5, columns}, {3}, {columns}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return mix.SinkhornCoefficients(b, elementwise.Scale(b, x[0], 100), x[1], x[2], n, 20)
			}}
		t.Run(c.Name, func(t *testing.T) {
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, true, 1e-4) // logits of 100 are exact to 1e-5
		})
	}
}

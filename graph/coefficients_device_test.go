//go:build cuda

package graph

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
)

// TestDeviceSinkhornOfFarLogits has logits hundreds apart, of which some are beyond what the
// start keeps: the way back must not divide by what has vanished.
func TestDeviceSinkhornOfFarLogits(t *testing.T) {
	for _, n := range []int{4, 6, 9} {
		columns := n*n + 2*n
		c := opCase{name: fmt.Sprintf("n=%d", n), floats: [][]int{{5, columns}, {3}, {columns}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.SinkhornCoefficients(b.Scale(x[0], 100), x[1], x[2], n, 20)
			}}
		t.Run(c.name, func(t *testing.T) {
			want := newProbe(t, c, Options{Threads: 1}, true)
			want.run(t, RunOptions{})
			checkOnDevice(t, c, want, Options{Device: CUDA, Precision: FP32}, true, 1e-4) // logits of 100 are exact to 1e-5
		})
	}
}

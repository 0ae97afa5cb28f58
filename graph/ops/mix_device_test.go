//go:build cuda

package ops_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceMixOfManyTokens has enough tokens that several blocks, each with several tokens, share
// the gradient of one C for all tokens, both for a small stream and for one of any size.
func TestDeviceMixOfManyTokens(t *testing.T) {
	for _, s := range []mixShape{{517, 9, 1, 3}, {1003, 2, 1, 4}} {
		for _, c := range s.cases(true) {
			t.Run(c.Name, func(t *testing.T) {
				requireSharedGradient(t, c, s.tokens)
				if testing.Short() {
					t.Skip("many tokens on the emulator")
				}
				want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
				want.Run(t, graph.RunOptions{})
				optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, true, 1e-5)
			})
		}
	}
}

// requireSharedGradient checks that the kernels that compute the gradient of a case's C are
// launched with several blocks, each for several tokens.
func requireSharedGradient(t *testing.T, c optest.Case, tokens int) {
	t.Helper()
	o := graph.ProgramOptions{Gradients: true}
	recording, err := graph.Record(o, cuda.NewRecorder(graph.FP32, 132), func(b *graph.Builder) (graph.Roots, error) {
		var x gorgonia.Nodes
		for i, shape := range c.Floats {
			x = append(x, b.Param(graph.ParamSpec{Name: fmt.Sprintf("x%d", i), Shape: shape, Init: graph.Normal(1)}))
		}
		y := c.Build(b, x, nil)
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{graph.SignatureOf(y).Size() / tokens, 3}, Init: graph.Normal(1)})
		return graph.Roots{Loss: loss.CrossEntropy(b, y, w, b.Input("targets", tensor.Int32, tokens), loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	seen := false
	for _, op := range recording.Ops {
		for _, w := range op.Work {
			if regexp.MustCompile(`^mix_(dots|read_grad|write_grad)`).MatchString(w.Kernel) {
				require.Greater(t, w.Grid.X, 1, w.Kernel)
				require.LessOrEqual(t, 2*w.Grid.X, tokens, w.Kernel)
				seen = true
			}
		}
	}
	require.True(t, seen)
}

package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
)

// TestStreamNeedsNoCopies: in precision BF16 a program of sums, writes and normalised reads needs
// no float32 copies of what it reads and writes; a program with a sigmoid does.
func TestStreamNeedsNoCopies(t *testing.T) {
	scratch := func(sigmoid bool) int {
		need, err := graph.PredictMemory(graph.ProgramOptions{Options: graph.Options{Precision: graph.BF16}}, func(b *graph.Builder) (graph.Roots, error) {
			keys, y := b.Input("keys", tensor.Float32, 3, 4), b.Input("y", tensor.Float32, 5, 3, 6)
			x := readwrite.Write(b, nil, keys, y)
			x = readwrite.Write(b, b.Add(x, x), keys, y)
			if sigmoid {
				x = elementwise.Sigmoid(b, x)
			}
			x = readwrite.NormRead(b, x, b.Input("gain", tensor.Float32, 4, 6), keys, norm.Options{})
			return graph.Roots{Outputs: gorgonia.Nodes{b.Add(x, x)}}, b.Err()
		})
		require.NoError(t, err)
		return need.Scratch
	}
	require.Zero(t, scratch(false))
	require.Equal(t, 2*4*5*4*6, scratch(true)) // copies of what the sigmoid reads and writes
}

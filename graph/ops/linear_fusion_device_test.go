//go:build cuda

package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceLinearAndSum: in bf16 a product adds the other term of the sum that alone reads it.
func TestDeviceLinearAndSum(t *testing.T) {
	product := func(b *graph.Builder, x, w *gorgonia.Node) *gorgonia.Node {
		return linear.Map(b, x, w, linear.Options{})
	}
	for name, test := range map[string]struct {
		width int
		added int // products that add
		build func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node
	}{
		"a stream": {40, 2, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
			y := b.Add(x[0], product(b, product(b, x[0], x[1]), x[2]))
			return b.Add(product(b, product(b, y, x[2]), x[1]), y)
		}},
		"its own input": {40, 1, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
			return product(b, b.Add(x[0], product(b, x[0], x[1])), x[2])
		}},
		"rows of no whole 16 bytes": {36, 1, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
			return product(b, b.Add(x[0], product(b, x[0], x[1])), x[2])
		}},
		"two readers": {40, 0, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
			y := product(b, x[0], x[1])
			return b.Add(product(b, y, x[2]), b.Add(x[0], y), y)
		}},
	} {
		c := optest.Case{Floats: [][]int{{67, test.width}, {test.width, test.width}, {test.width, test.width}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return test.build(b, x) }}
		for _, setting := range []string{"RESIDUA_FUSION=1", "RESIDUA_CUBLASLT=0", "RESIDUA_CUBLASLT=measure"} {
			t.Run(name+"/"+setting, func(t *testing.T) {
				c := c
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
				variable, value, _ := strings.Cut(setting, "=")
				t.Setenv(variable, value)
				optest.CheckInAllPrecisions(t, c)
				added, sums := addedAndSums(t, c)
				t.Setenv("RESIDUA_FUSION", "0")
				none, all := addedAndSums(t, c)
				require.Zero(t, none)
				require.Equal(t, test.added, added)
				require.Equal(t, all-added, sums)
				t.Setenv("RESIDUA_FUSION", "1")
				c.NoGradient = true // then the sum may overwrite what nothing reads later
				optest.CheckInAllPrecisions(t, c)
			})
		}
	}
}

// addedAndSums counts, in a training step in bf16, the products that add and the sums.
func addedAndSums(t *testing.T, c optest.Case) (added, sums int) {
	t.Helper()
	p := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: graph.BF16}, false)
	p.Run(t, graph.RunOptions{Profile: true})
	require.NoError(t, p.Program.EndProfile())
	for _, row := range p.Program.Profile() {
		if strings.HasSuffix(row.OpType, "Linear and Add") {
			added += row.Calls
		}
		if row.OpType == "Add" {
			sums += row.Calls
		}
	}
	return added, sums
}

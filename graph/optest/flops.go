package optest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// ForwardFLOPs checks the counted matrix products of the cases that want names; each name must
// exist.
func ForwardFLOPs(t *testing.T, cases []Case, want map[string]int) {
	seen := 0
	for _, c := range cases {
		flops, ok := want[c.Name]
		if !ok {
			continue
		}
		c.NoGradient = true
		var g caseGraph
		p, err := graph.Compile(graph.ProgramOptions{Options: c.Options(tensor.Float32)}, func(b *graph.Builder) (graph.Roots, error) {
			var err error
			g, err = c.Graph(b)
			outputs := gorgonia.Nodes{g.output}
			for _, n := range []*gorgonia.Node{g.tail, g.Loss} {
				if n != nil {
					outputs = append(outputs, n)
				}
			}
			return graph.Roots{Outputs: outputs}, err
		})
		require.NoError(t, err)
		require.Equal(t, flops, p.ForwardFLOPs(), c.Name)
		p.Close()
		seen++
	}
	require.Equal(t, len(want), seen)
}

// Totals sums the rows of a profile.
func Totals(rows []graph.OpProfile) (sum graph.OpProfile) {
	for _, r := range rows {
		sum.Seconds += r.Seconds
		sum.FLOPs += r.FLOPs
		sum.Bytes += r.Bytes
	}
	return sum
}

package analysis_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestReads: in every design each site reads something that was written before it, and the shares
// of those who wrote it add up to 1.
func TestReads(t *testing.T) {
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			run, err := analysis.Run(store, c, []int32{1, 7, 3, 0, 12, 5})
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			reads, err := d.Reads(4)
			require.NoError(t, err)
			sums := map[int]float64{}
			for _, e := range reads.Edges {
				assert.Less(t, reads.Nodes[e.From].Layer, reads.Nodes[e.To].Layer, "%s to %s", reads.Nodes[e.From].Name, reads.Nodes[e.To].Name)
				sums[e.To] += e.Weight
			}
			constant, err := d.Constant(4)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(sums), 2)
			for to, sum := range sums {
				if isZero(constant) {
					assert.InDelta(t, 1, sum, 1e-9, reads.Nodes[to].Name)
				}
			}
			byHead, err := d.ReadsByHead(4)
			require.NoError(t, err)
			heads, sites := edges(byHead), edges(reads)
			require.Len(t, heads, len(sites))
			for edge, share := range sites {
				assert.InDelta(t, share, heads[edge], 1e-9, "%v: heads and bias add up to their site's share", edge)
			}
			if slices.ContainsFunc(d.Writers(), func(w stream.Writer) bool { return w.Part == "head" }) {
				assert.Greater(t, len(byHead.Nodes), len(reads.Nodes), "a node for each head")
			}
			for _, e := range byHead.Edges {
				assert.Less(t, byHead.Nodes[e.From].Layer, byHead.Nodes[e.To].Layer, "%s to %s", byHead.Nodes[e.From].Name, byHead.Nodes[e.To].Name)
			}
			_, err = d.Reads(6)
			assert.Error(t, err)
		})
	}
}

// edges are shares by the names of both ends; those of a writer's heads are added up.
func edges(r *analysis.Reads) map[[2]string]float64 {
	sums, head := map[[2]string]float64{}, regexp.MustCompile(`\.\d+$`)
	for _, e := range r.Edges {
		from := head.ReplaceAllString(r.Nodes[e.From].Name, "")
		sums[[2]string{from, r.Nodes[e.To].Name}] += e.Weight
	}
	return sums
}

func isZero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

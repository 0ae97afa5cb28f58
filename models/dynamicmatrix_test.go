package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestDynamicKeysStartAsTheRMT: while the keys take nothing from the stream, the model equals the
// RMT bit for bit, whatever the scales; once they do, it does not.
func TestDynamicKeysStartAsTheRMT(t *testing.T) {
	sizes := stream.MatrixConfig{Dk: 20, Dv: 24, Rank: 6}
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		rmt, dynamic := modeltest.Resolve(t, tinyMatrix(onStream(sizes))), modeltest.Resolve(t, tinyMatrix(onStream(stream.DynamicMatrixConfig(sizes))))
		theirs, ours := modeltest.PerturbedStore(t, rmt, dt), modeltest.PerturbedStore(t, dynamic, dt)
		for _, p := range theirs.Params() {
			values := graph.Float64s(p.Value)
			if own := ours.Param(p.Name); own != nil {
				require.NoError(t, graph.SetFloat64s(own.Value, values))
				continue
			}
			require.NoError(t, graph.SetFloat64s(ours.Param(p.Name+".static").Value, columnsOf(values, sizes.Dk)))
			require.NoError(t, graph.SetFloat64s(ours.Param(p.Name+".w").Value, make([]float64, ours.Param(p.Name+".w").Size())))
		}
		b := modeltest.RandomBatch(rmt, 2, rmt.Seq, 1)
		want := modeltest.Compile(t, rmt, theirs, modeltest.Setup{}).On(t, b, graph.RunOptions{})
		got := modeltest.Compile(t, dynamic, ours, modeltest.Setup{}).On(t, b, graph.RunOptions{})
		assert.Equal(t, want.Logits, got.Logits, "%v", dt)

		w := ours.Param("blocks.0.attention.read.w")
		values := make([]float64, w.Size())
		values[0] = 1
		require.NoError(t, graph.SetFloat64s(w.Value, values))
		got = modeltest.Compile(t, dynamic, ours, modeltest.Setup{}).On(t, b, graph.RunOptions{})
		assert.Greater(t, modeltest.Distance(got.Logits, want.Logits), 1e-4, "%v", dt)
	}
}

// columnsOf lays keys [m, dk] out as columns, [dk, m].
func columnsOf(keys []float64, dk int) []float64 {
	var columns []float64
	for i := range dk {
		for at := i; at < len(keys); at += dk {
			columns = append(columns, keys[at])
		}
	}
	return columns
}

package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkLogitsAt: logits computed for some tokens alone equal the same tokens' logits among the
// logits of all.
func checkLogitsAt(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	b := RandomBatch(spec, rows, spec.Seq, 7)
	run := func(want models.Outputs, at ...int32) []float64 {
		m, err := models.Compile(spec, rows, spec.Seq, want, graph.ProgramOptions{Options: graph.Options{Store: store, Threads: 1}})
		require.NoError(t, err)
		defer m.Close()
		copy(m.Tokens, b.Inputs)
		require.Len(t, m.At, len(at))
		copy(m.At, at)
		require.NoError(t, m.Run(graph.RunOptions{}))
		logits, err := graph.Value(m.Logits)
		require.NoError(t, err)
		return append([]float64{}, logits.Float64s()...)
	}
	at := []int32{int32(rows*spec.Seq - 1), 0, int32(spec.Seq / 2), 0}
	all, some := run(models.Outputs{Logits: true}), run(models.Outputs{Logits: true, LogitsAt: len(at)}, at...)
	require.Len(t, some, len(at)*spec.Vocab)
	for i, token := range at {
		require.LessOrEqual(t, Distance(some[i*spec.Vocab:][:spec.Vocab], all[int(token)*spec.Vocab:][:spec.Vocab]), 1e-12, "token %d", token)
	}
}

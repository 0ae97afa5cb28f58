package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
)

// checkLogitsAt checks that logits computed for some tokens only equal the same tokens' logits
// among the logits of all.
func checkLogitsAt(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	b := RandomBatch(spec, rows, spec.Seq, 7)
	run := func(at ...int32) []float64 {
		p := Compile(t, spec, store, Setup{LogitsAt: len(at)})
		require.Len(t, p.At, len(at))
		copy(p.At, at)
		return p.On(t, b).Logits
	}
	at := []int32{int32(rows*spec.Seq - 1), 0, int32(spec.Seq / 2), 0}
	all, some := run(), run(at...)
	require.Len(t, some, len(at)*spec.Vocab)
	for i, token := range at {
		require.LessOrEqual(t, Distance(some[i*spec.Vocab:][:spec.Vocab], all[int(token)*spec.Vocab:][:spec.Vocab]), 1e-12, "token %d", token)
	}
}

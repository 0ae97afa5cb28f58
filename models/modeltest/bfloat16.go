package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkBFloat16 checks that precision BF16 computes what float32 does, up to the rounding to 8
// significant bits. Activations stored in 16 bits have the same bits as ones rounded in float32
// memory, whatever else the program computes.
func checkBFloat16(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float32)
	b := documentBatch(spec, rows, 11)
	exact := evaluate(t, spec, store, b)
	want, gradients := trained(t, spec, store, b, Setup{Separate: true, Precision: graph.BF16})
	assert.NotEqual(t, exact.CrossEntropy, want.CrossEntropy)
	t.Logf("loss %.4f, in float32 %.4f", want.CrossEntropy, exact.CrossEntropy)
	assert.InEpsilon(t, exact.CrossEntropy, want.CrossEntropy, 0.05, "loss") // dozens of roundings one after the other, each by up to 2^-9
	for name, s := range map[string]Setup{"packed": {}, "packed, with recomputation": {Recompute: graph.RecomputeBlock},
		"packed, norms and activations again": {Recompute: graph.RecomputeCheap}} {
		s.Precision = graph.BF16
		r, g := trained(t, spec, store, b, s)
		require.Equal(t, want.Loss, r.Loss, name)
		require.Zero(t, Distance(r.Logits, want.Logits), name)
		requireSame(t, gradients, g, name)
	}
}

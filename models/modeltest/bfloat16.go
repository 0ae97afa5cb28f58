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
	exact := Compile(t, spec, store, Setup{}).On(t, b, graph.RunOptions{})
	run := func(s Setup) (Result, map[string][]float64) {
		s.Gradients, s.Auxiliary, s.Precision = true, auxiliary, graph.BF16
		p := Compile(t, spec, store, s)
		p.On(t, b, graph.RunOptions{})
		r := p.On(t, b, graph.RunOptions{}) // a second time, over used buffers
		return r, Gradients(store)
	}
	want, gradients := run(Setup{Separate: true})
	assert.NotEqual(t, exact.CrossEntropy, want.CrossEntropy)
	t.Logf("loss %.4f, in float32 %.4f", want.CrossEntropy, exact.CrossEntropy)
	assert.InEpsilon(t, exact.CrossEntropy, want.CrossEntropy, 0.05, "loss") // dozens of roundings one after the other, each by up to 2^-9
	for name, s := range map[string]Setup{"packed": {}, "packed, with recomputation": {Recompute: graph.RecomputeBlock}} {
		r, g := run(s)
		require.Equal(t, want.Loss, r.Loss, name)
		require.Zero(t, Distance(r.Logits, want.Logits), name)
		requireSame(t, gradients, g, name)
	}
}

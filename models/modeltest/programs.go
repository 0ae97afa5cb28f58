package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkPrecision checks that the logits computed in float32 are within 2e-5 of those computed
// in float64.
func checkPrecision(t *testing.T, spec models.Spec) {
	narrow, wide := PerturbedStore(t, spec, tensor.Float32), NewStore(t, spec, tensor.Float64, 0)
	copyValues(t, wide, narrow)
	b := documentBatch(spec, rows, 10)
	want := evaluate(t, spec, wide, b)
	got := evaluate(t, spec, narrow, b)
	assert.LessOrEqual(t, Distance(got.Logits, want.Logits), 2e-5, "logits")
	assert.InEpsilon(t, want.Loss, got.Loss, 2e-5, "loss")
}

// checkPrograms checks that programs over one Store agree, whatever else they compute.
// Training and evaluating, sharing buffers or not, and recomputing blocks or not change no
// bit.
func checkPrograms(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float32)
	b := documentBatch(spec, rows, 11)
	want := Compile(t, spec, store, Setup{Auxiliary: auxiliary}).On(t, b)
	training, gradients := trained(t, spec, store, b, Setup{})
	require.Equal(t, want, training, "a training program")
	for name, s := range map[string]Setup{
		"without shared buffers": {Separate: true},
		"with recomputation":     {Recompute: graph.RecomputeBlock},
		"norms and activations":  {Recompute: graph.RecomputeCheap},
		"both":                   {Separate: true, Recompute: graph.RecomputeBlock},
	} {
		r, g := trained(t, spec, store, b, s)
		require.Equal(t, want, r, name)
		requireSame(t, gradients, g, name)
	}
	lossOnly, g := trained(t, spec, store, b, Setup{LossOnly: true})
	require.Equal(t, want.Loss, lossOnly.Loss, "a program of the loss only")
	requireSame(t, gradients, g, "a program of the loss only")
}

// checkDropout checks that dropout is active in training only, depends on the step and on
// nothing else, and is the same with recomputation. It sets the rate to 0.3.
func checkDropout(t *testing.T, spec models.Spec) {
	spec = varied(t, spec, func(c *models.Config) { c.Dropout = 0.3 })
	store := PerturbedStore(t, spec, tensor.Float32)
	b := documentBatch(spec, rows, 12)
	without := varied(t, spec, func(c *models.Config) { c.Dropout = 0 })
	plain := evaluate(t, without, store, b)
	require.Equal(t, plain, evaluate(t, spec, store, b), "evaluation")
	require.Equal(t, plain, Compile(t, without, store, Setup{Training: true}).On(t, b), "training without dropout")

	p := Compile(t, spec, store, Setup{Training: true, Gradients: true})
	first := p.On(t, b, graph.RunOptions{Step: 1})
	gradients := Gradients(store)
	second := p.On(t, b, graph.RunOptions{Step: 2})
	assert.Greater(t, Distance(first.Logits, plain.Logits), 1e-3, "training and evaluation")
	assert.Greater(t, Distance(second.Logits, first.Logits), 1e-3, "two steps")
	again := Compile(t, spec, store, Setup{Training: true, Gradients: true, Recompute: graph.RecomputeBlock})
	require.Equal(t, first, again.On(t, b, graph.RunOptions{Step: 1}), "the same step again")
	requireSame(t, gradients, Gradients(store), "the same step again, recomputed")
}

// checkAccumulation checks that the gradients of micro-batches add up to their number times
// the gradient of the whole batch.
func checkAccumulation(t *testing.T, spec models.Spec) {
	z := models.Auxiliary{ZLoss: auxiliary.ZLoss} // the balance of a whole batch is not the mean of its parts'
	store := PerturbedStore(t, spec, tensor.Float64)
	const parts = 3
	whole := documentBatch(spec, parts*rows, 13)
	Compile(t, spec, store, Setup{Rows: parts * rows, Gradients: true, LossOnly: true, Auxiliary: z}).On(t, whole)
	want := Gradients(store)
	p := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Auxiliary: z})
	size := rows * spec.Seq
	for i := range parts {
		part := Batch{Inputs: whole.Inputs[i*size:][:size], Targets: whole.Targets[i*size:][:size], Rows: rows, Seq: spec.Seq}
		p.On(t, part, graph.RunOptions{Accumulate: i > 0})
	}
	got := Gradients(store)
	for _, g := range got {
		for i := range g {
			g[i] /= parts
		}
	}
	requireClose(t, want, got, 1e-12, 1e-3*largestOf(want), "accumulated gradient")
}

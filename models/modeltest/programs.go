package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkPrecision: float32 computes the logits of float64 to 2e-5.
func checkPrecision(t *testing.T, spec models.Spec) {
	narrow, wide := PerturbedStore(t, spec, tensor.Float32), NewStore(t, spec, tensor.Float64, 0)
	copyValues(t, wide, narrow)
	b := documentBatch(spec, rows, 10)
	want := Compile(t, spec, wide, Setup{}).On(t, b, graph.RunOptions{})
	got := Compile(t, spec, narrow, Setup{}).On(t, b, graph.RunOptions{})
	assert.LessOrEqual(t, Distance(got.Logits, want.Logits), 2e-5, "logits")
	assert.InEpsilon(t, want.Loss, got.Loss, 2e-5, "loss")
}

// checkPrograms: programs over one Store agree, whatever else they are for. Training and
// evaluating, sharing buffers or not, and recomputing blocks or not change no bit.
func checkPrograms(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float32)
	b := documentBatch(spec, rows, 11)
	want := Compile(t, spec, store, Setup{Auxiliary: auxiliary}).On(t, b, graph.RunOptions{})
	run := func(s Setup) (Result, map[string][]float64) {
		s.Gradients, s.Auxiliary = true, auxiliary
		p := Compile(t, spec, store, s)
		p.On(t, b, graph.RunOptions{})
		r := p.On(t, b, graph.RunOptions{}) // a second time, over used buffers
		return r, Gradients(store)
	}
	training, gradients := run(Setup{})
	require.Equal(t, want, training, "a training program")
	for name, s := range map[string]Setup{
		"without shared buffers": {Separate: true},
		"with recomputation":     {Recompute: graph.RecomputeBlock},
		"both":                   {Separate: true, Recompute: graph.RecomputeBlock},
	} {
		r, g := run(s)
		require.Equal(t, want, r, name)
		requireSame(t, gradients, g, name)
	}
	lossOnly, g := run(Setup{LossOnly: true})
	require.Equal(t, want.Loss, lossOnly.Loss, "a program of the loss only")
	requireSame(t, gradients, g, "a program of the loss only")
}

// checkDropout: dropout is active in training only, depends on the step and on nothing
// else, and is the same with recomputation. A config without it is given some.
func checkDropout(t *testing.T, spec models.Spec) {
	spec = varied(t, spec, func(c *models.Config) { c.Dropout = 0.3 })
	store := PerturbedStore(t, spec, tensor.Float32)
	b := documentBatch(spec, rows, 12)
	without := varied(t, spec, func(c *models.Config) { c.Dropout = 0 })
	plain := Compile(t, without, store, Setup{}).On(t, b, graph.RunOptions{})
	require.Equal(t, plain, Compile(t, spec, store, Setup{}).On(t, b, graph.RunOptions{}), "evaluation")
	require.Equal(t, plain, Compile(t, without, store, Setup{Training: true}).On(t, b, graph.RunOptions{}), "training without dropout")

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

// checkAccumulation: the gradients of micro-batches add up to their number times the gradient of
// the whole batch.
func checkAccumulation(t *testing.T, spec models.Spec) {
	z := models.Auxiliary{ZLoss: auxiliary.ZLoss} // the balance of a whole batch is not the mean of its parts'
	store := PerturbedStore(t, spec, tensor.Float64)
	const parts = 3
	whole := documentBatch(spec, parts*rows, 13)
	Compile(t, spec, store, Setup{Rows: parts * rows, Gradients: true, LossOnly: true, Auxiliary: z}).On(t, whole, graph.RunOptions{})
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

package modeltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/learner"
)

// manyTokens is a number of tokens that splits every sum over tokens into several pieces, the last
// one not full.
const manyTokens = 300

// checkThreads checks that the loss, the logits, every gradient and the weights after training
// have the same bits with any number of threads, whether or not it divides the work evenly.
// Training takes 1 step; long tests also compare the weights after 3 steps, exhaustive ones
// after 20.
func checkThreads(t *testing.T, spec models.Spec) {
	many := manyTokens/spec.Seq + 1
	store := PerturbedStore(t, spec, tensor.Float32)
	b := RandomBatch(spec, many, spec.Seq, 16)
	run := func(threads int) (Result, map[string][]float64) {
		p := Compile(t, spec, store, Setup{Rows: many, Gradients: true, Auxiliary: auxiliary, Threads: threads})
		return p.On(t, b), Gradients(store)
	}
	result, gradients := run(1)
	steps := []int{1}
	if longtest.Exhaustive() {
		steps = []int{1, 20}
	} else if longtest.Enabled() {
		steps = []int{1, 3}
	}
	trained := trainMany(t, spec, 5, many, 1, steps...)
	for _, threads := range []int{2, 3, 4, 7} {
		r, g := run(threads)
		require.Equal(t, result, r, "%d threads", threads)
		requireSame(t, gradients, g, fmt.Sprintf("%d threads", threads))
		if threads != 3 && !longtest.Enabled() {
			continue
		}
		for i, got := range trainMany(t, spec, 5, many, threads, steps...) {
			requireSame(t, trained[i], got, fmt.Sprintf("%d threads, step %d", threads, steps[i]))
		}
	}
}

// trainMany trains on batches of many rows and returns the parameters after each of the steps.
func trainMany(t *testing.T, spec models.Spec, seed uint64, many, threads int, steps ...int) (trained []map[string][]float64) {
	t.Helper()
	store := NewStore(t, spec, tensor.Float32, seed)
	position := uint64(0)
	batches := learner.BatchFunc(func(tokens, targets []int32) error {
		position++
		b := RandomBatch(spec, many, spec.Seq, position)
		return learner.Fixed(b.Inputs, b.Targets).Next(tokens, targets)
	})
	l, err := learner.New(spec, batches, learner.Options{
		Compute: graph.Options{Store: store, Threads: threads}, Optimizer: []optim.Part{optim.Rate(1e-3, optim.Constant{})},
		Batch: many, Outputs: models.Outputs{Auxiliary: auxiliary},
	})
	require.NoError(t, err)
	defer l.Close()
	done := 0
	for _, step := range steps {
		require.NoError(t, l.Train(t.Context(), step-done, nil))
		trained, done = append(trained, Values(store)), step
	}
	require.Zero(t, l.Progress().Skipped)
	return trained
}

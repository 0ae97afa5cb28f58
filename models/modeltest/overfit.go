package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/learner"
)

// Overfitting: steps, peak rate and the cross-entropy to reach, in nats.
const (
	overfitSteps = 200
	overfitRate  = 0.02
	overfitLoss  = 0.1
)

// checkOverfit checks that from its specified initial values the model learns a batch by
// heart.
func checkOverfit(t *testing.T, spec models.Spec) {
	if testing.Short() {
		t.Skip("some hundred training steps are left out with -short")
	}
	store := NewStore(t, spec, tensor.Float32, 1)
	b := RandomBatch(spec, rows, spec.Seq, 16)
	l, err := learner.New(spec, learner.Fixed(b.Inputs, b.Targets), learner.Options{
		Batch: rows, Outputs: models.Outputs{Auxiliary: auxiliary}, Compute: graph.Options{Store: store, Threads: 1},
		Optimizer: []optim.Part{optim.Clip(1), optim.Adam(0.9, 0.95, 1e-8), optim.MuP(),
			optim.Rate(overfitRate, optim.WarmupCosine{Warmup: overfitSteps / 20, Total: overfitSteps, Min: 0.1})},
	})
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, l.Train(t.Context(), overfitSteps, nil))
	require.Zero(t, l.Progress().Skipped)
	loss := evaluate(t, spec, store, b).CrossEntropy
	assert.Less(t, loss, overfitLoss, "cross-entropy after %d steps on one batch", overfitSteps)
	t.Logf("cross-entropy after %d steps: %.4f nats", overfitSteps, loss)
}

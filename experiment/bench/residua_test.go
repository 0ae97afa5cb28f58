package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// TestStepFLOPsAreThoseOfTheProfile: the FLOPs from which speeds are computed equal those of the
// ops that a step runs.
func TestStepFLOPsAreThoseOfTheProfile(t *testing.T) {
	for _, name := range []string{"byte-rmt", "byte-transformer"} {
		chosen, err := Choose(models.Standard(), []string{name}, Size{Batch: 2, Seq: 8})
		require.NoError(t, err)
		o, err := newResidua(chosen[0], Target{Threads: 1})
		require.NoError(t, err)
		defer o.close()
		_, err = o.step()
		require.NoError(t, err)
		flops := 0
		for _, row := range o.learner.Program().Profile() {
			flops += row.FLOPs
		}
		assert.Equal(t, chosen[0].stepFLOPs(), float64(flops), name)
	}
}

// TestResiduaLearns: steps on one batch lower its loss, and the facts describe the program.
func TestResiduaLearns(t *testing.T) {
	chosen, err := Choose(models.Standard(), []string{"byte-rmt"}, Size{Batch: 1, Seq: 8})
	require.NoError(t, err)
	o, err := newResidua(chosen[0], Target{Threads: 1})
	require.NoError(t, err)
	defer o.close()
	first, err := o.step()
	require.NoError(t, err)
	var last float64
	for range 60 {
		last, err = o.step()
		require.NoError(t, err)
	}
	assert.Less(t, last, first-0.5)
	f := o.facts()
	assert.Equal(t, chosen[0].Spec.Cost().Parameters, f.Parameters)
	assert.Equal(t, o.learner.Program().Memory().Arena+16*f.Parameters, f.Predicted)
}

// TestOptimizersDiffer: the losses of the first two steps are the same with both optimizers, since
// the hidden layers have no gradient while the unembedding is zero; that of the third differs.
func TestOptimizersDiffer(t *testing.T) {
	chosen, err := Choose(models.Standard(), []string{"byte-rmt"}, Size{Batch: 1, Seq: 8})
	require.NoError(t, err)
	var losses [][3]float64
	for _, name := range OptimizerNames() {
		w := chosen[0]
		w.Optim = name
		o, err := newResidua(w, Target{Threads: 1})
		require.NoError(t, err)
		defer o.close()
		var three [3]float64
		for i := range three {
			three[i], err = o.step()
			require.NoError(t, err)
		}
		losses = append(losses, three)
	}
	assert.Equal(t, losses[0][:2], losses[1][:2])
	assert.NotEqual(t, losses[0][2], losses[1][2])
	_, err = optimizer("sgd")
	assert.ErrorContains(t, err, `want one of [adamw muon], got "sgd"`)
}

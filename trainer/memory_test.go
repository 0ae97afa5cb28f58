package trainer_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestRunBeyondMemoryIsRefused: before anything is allocated or written, the error says in one line
// what the run takes and what would fit.
func TestRunBeyondMemoryIsRefused(t *testing.T) {
	text := corpus(t)
	for name, row := range map[string]struct {
		sets []string
		want string
	}{
		"broad": {[]string{"model.stream.dk=65536", "model.feedforward.hidden=1048576", "model.layers=4096"}, `^the model and its training: want about \S+ TB of memory \(parameters \S+ [GT]B, gradients \S+ [GT]B, moments \S+ [GT]B, activations \S+ [GT]B\), got \S+ [MG]B available: `},
		"deep":  {[]string{"model.feedforward.hidden=1048576", "model.layers=4096"}, `available: model\.layers=\d+ .*would fit$`},
		"batch": {[]string{"train.batch=65536", "model.seq=65536", "model.attention.positions=none", "train.eval_tokens=0"}, `available: train\.batch=\d+.* would fit$`},
	} {
		out := filepath.Join(t.TempDir(), "run")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := trainer.Open(context.Background(), tiny(t, text, out, row.sets...), trainer.Options{})
		runtime.ReadMemStats(&after)
		require.Error(t, err, name)
		assert.Regexp(t, row.want, err.Error(), name)
		assert.NotContains(t, err.Error(), "\n", name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
		_, err = os.Stat(out)
		assert.ErrorIs(t, err, os.ErrNotExist, name)
	}
}

// TestRanksShareTheMemoryOfAMachine: each of several ranks may have its share of the memory.
func TestRanksShareTheMemoryOfAMachine(t *testing.T) {
	text := corpus(t)
	_, errs := onRanks(2, func(int) rankRun {
		return rankRun{ctx: t.Context(), run: tiny(t, text, t.TempDir(), "device.ranks=2", "train.accumulate=2", "model.feedforward.hidden=1048576", "model.layers=4096")}
	})
	for _, err := range errs {
		require.ErrorContains(t, err, "the model and its training, by each of the 2 ranks on this machine: want about ")
	}
}

// TestWhatIsAdvisedFits: a change that the refusal names makes the run fit.
func TestWhatIsAdvisedFits(t *testing.T) {
	run := tiny(t, corpus(t), t.TempDir(), "train.batch=64", "model.seq=1024", "model.layers=8", "train.eval_tokens=0")
	need := run.Spec().TrainingMemory(run.Train.Batch, graph.RecomputeNone)
	available := need.Total() / 2
	require.NoError(t, trainer.Fits(run, need.Total()))
	err := trainer.Fits(run, available)
	require.ErrorContains(t, err, "train.batch=")
	require.ErrorContains(t, err, "train.recompute=block")
	run.Train.Recompute = string(graph.RecomputeBlock)
	require.NoError(t, trainer.Fits(run, available))
}

// TestEveryConfigFits: each config in configs/ trains on a machine with 64 GB, and the small ones
// with 2 GB; on a device, activations do not count as host memory.
func TestEveryConfigFits(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "configs", "*.yaml"))
	require.NoError(t, err)
	runs, err := filepath.Glob(filepath.Join("..", "configs", "paper", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	require.NotEmpty(t, runs)
	files = append(files, runs...)
	for _, file := range files {
		run, _, err := runconfig.Load(models.Standard(), file, nil)
		require.NoError(t, err)
		assert.NoError(t, trainer.Fits(run, min(64e9, math.MaxInt)), file)
		if run.Model.Layers <= 4 {
			assert.NoError(t, trainer.Fits(run, 2e9), file)
		}
		need := trainer.MemoryNeed(run)
		t.Logf("%-28s %s", filepath.Base(file), graph.FormatBytes(need.Total()))
		assert.Error(t, trainer.Fits(run, need.Total()-1), file)
		run.Device.Kind = string(graph.CUDA)
		assert.NoError(t, trainer.Fits(run, need.Total()-need.Activations), file)
	}
	assert.Error(t, trainer.Fits(tiny(t, corpus(t), t.TempDir()), 0))
	assert.NoError(t, trainer.Fits(tiny(t, corpus(t), t.TempDir()), math.MaxInt), "where the system does not tell its memory")
}

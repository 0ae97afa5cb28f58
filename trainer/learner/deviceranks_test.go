//go:build cuda

package learner_test

import (
	"cmp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/distributed"
	"github.com/residua-go/residua/trainer/learner"
)

// onEmulator skips a test on a GPU, which two ranks cannot share.
func onEmulator(t *testing.T) {
	t.Helper()
	if !emulator.Emulated() {
		t.Skip("the ranks of one process share its GPU, which NCCL refuses")
	}
	require.NoError(t, emulator.Use())
}

// TestDeviceRanksTrainAsOne checks that two ranks on devices train as one does: a transformer by
// Muon and AdamW, an RMT by AdamW.
func TestDeviceRanksTrainAsOne(t *testing.T) {
	onEmulator(t)
	all, rules := map[string]models.Spec{"transformer": small(t, nil)}, map[string]string{"transformer": "muon"}
	all["RMT"] = small(t, func(c *models.Config) {
		c.Stream, c.Attention.Heads = stream.MatrixConfig{Dk: 5, Dv: 4, Rank: 2}, 0
	})
	if longtest.Enabled() {
		all = fewRankModels(t)
	}
	for name, spec := range all {
		o := learner.Options{Optimizer: optimizers()[cmp.Or(rules[name], "adamw")], Compute: graph.Options{Device: graph.CUDA, Precision: graph.FP32}}
		t.Run(name, func(t *testing.T) { compareRanks(t, 2, spec, o) })
	}
}

// TestDeviceRanksInBF16 checks that the copies of weights in bfloat16 follow on all ranks: two
// ranks stay as close to one rank as rounding to 8 bits allows.
func TestDeviceRanksInBF16(t *testing.T) {
	onEmulator(t)
	o := learner.Options{Optimizer: []optim.Part{optim.Rate(2e-2, optim.Constant{})}, Compute: graph.Options{Device: graph.CUDA, Precision: graph.BF16}}
	want, got := train(t, 1, small(t, nil), o), train(t, 2, small(t, nil), o)
	require.InDeltaSlice(t, want.losses[:5], got.losses[:5], 2e-3)
}

// TestDeviceRanksCopyNothingToTheHost checks that gradients and weights stay on the devices.
func TestDeviceRanksCopyNothingToTheHost(t *testing.T) {
	onEmulator(t)
	const steps = 3
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		l, err := learner.New(small(t, nil), &random{}, learner.Options{Group: g, Accumulate: 2, Compute: graph.Options{Threads: 1, Device: graph.CUDA}})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := l.Train(t.Context(), 2, nil); err != nil {
			return err
		}
		for range 2 { // all are done, and then all counters are at 0
			if err := distributed.Barrier(g, "test").Wait(); err != nil {
				return err
			}
			emulator.ResetCounters()
		}
		if err := l.Train(t.Context(), steps, nil); err != nil {
			return err
		}
		if err := distributed.Barrier(g, "test").Wait(); err != nil {
			return err
		}
		moved, weights := emulator.Counters().Moved, uint64(4*l.Program().Store().Size())
		require.Less(t, moved.Down, steps*weights/4)
		require.Less(t, moved.Up, steps*weights/4)
		return distributed.Barrier(g, "test").Wait()
	})
}

// TestDeviceRanksFail checks that training ends with an error that says what failed where NCCL
// fails or hangs.
func TestDeviceRanksFail(t *testing.T) {
	onEmulator(t)
	for setting, want := range map[string]string{ // the number of the collective: gradients, weights, gradients ...
		"fails:3": "gradients, by NCCL: collective of NCCL: error 6: remote process exited or there was a network error: the network is down",
		"hangs:4": "weights, by NCCL: not done ",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Setenv("RESIDUA_EMULATOR_NCCL", setting)
			var all sync.WaitGroup
			errs := make([]error, 2)
			for r, transport := range distributed.Memory(2) {
				all.Go(func() { errs[r] = trainUntilItFails(t, transport) })
			}
			all.Wait()
			for _, err := range errs {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// trainUntilItFails trains by one of several ranks, which then leaves the job.
func trainUntilItFails(t *testing.T, transport distributed.Transport) error {
	g, err := distributed.New(transport, distributed.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	defer g.Close()
	l, err := learner.New(small(t, nil), &random{}, learner.Options{Group: g, Accumulate: 2, Compute: graph.Options{Threads: 1, Device: graph.CUDA}})
	if err != nil {
		return err
	}
	defer l.Close()
	return l.Train(t.Context(), 10, nil)
}

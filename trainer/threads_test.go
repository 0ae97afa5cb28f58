package trainer_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/trainer"
)

// TestThreadsChangeNoBit: a run has the same losses and weights with any number of threads, on any
// number of cores, with each optimizer and with experts.
func TestThreadsChangeNoBit(t *testing.T) {
	text := corpus(t)
	for name, sets := range map[string][]string{
		"adamw":         nil,
		"muon":          {"train.optim.kind=muon"},
		"muon as adamw": {"train.optim.kind=muon", "train.optim.scale=match_rms_adamw", "train.optim.keys=adamw"},
		"moe":           {"model.feedforward={kind: moe, hidden: 24}", "model.feedforward.experts=3", "model.feedforward.top_k=2", "train.balance_loss=0.01", "train.router_z_loss=0.01"},
	} {
		run := func(threads, cores int) (string, []string) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			out := filepath.Join(t.TempDir(), "run")
			set := append([]string{"train.steps=4", "train.batch=40", fmt.Sprintf("device.threads=%d", threads)}, sets...)
			train(t, tiny(t, text, out, set...), trainer.Options{})
			return out, losses(t, out)
		}
		first, want := run(1, 1)
		require.Len(t, want, 4)
		for _, threads := range []int{2, 3, 4, 7} {
			if threads != 3 && !longtest.Enabled() {
				continue
			}
			out, got := run(threads, min(threads, 3))
			require.Equal(t, want, got, "%s, %d threads", name, threads)
			require.Equal(t, last(t, first).Model, last(t, out).Model, "%s, %d threads", name, threads)
		}
	}
}

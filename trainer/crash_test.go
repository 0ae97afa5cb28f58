package trainer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// crashing returns a small run for crash.Test: six steps, three validations of which the first is
// the best, and four checkpoints of which few are kept.
func crashing(t *testing.T, name, text string, sets ...string) crash.Work {
	run := func(out string) *runconfig.Run {
		return smallest(t, text, out, append([]string{"train.steps=6", "train.eval_every=2", "train.checkpoint_every=3", "train.keep=1",
			"train.keep_log=true", "train.lr=1", "train.schedule=constant", "train.warmup=0"}, sets...)...)
	}
	return crash.Work{
		Name: name,
		Do: func(out string, disk checkpoint.Disk) error {
			tr, err := trainer.OpenOn(context.Background(), run(out), trainer.Options{Resume: trainer.ResumeAuto}, disk)
			if err != nil {
				return err
			}
			defer tr.Close()
			_, err = tr.Run(context.Background())
			return err
		},
		Left: func(out string) map[string]string { return timelessContents(t, out) },
	}
}

// timelessContents returns everything in a finished run's folder that does not depend on time: the
// numbers of the metrics, weights, moments and state, best.json, config, picture, and the names of
// all files.
func timelessContents(t *testing.T, out string) map[string]string {
	left := crash.Contents(t, out)
	left["metrics.jsonl"] = strings.Join(losses(t, out), "\n")
	for name := range left {
		switch {
		case name == checkpoint.LockName: // says which process
			left[name] = ""
		case filepath.Base(name) == checkpoint.StateFile && !strings.Contains(name, "/log-"):
			state, err := checkpoint.ReadState(filepath.Dir(filepath.Join(out, name)))
			require.NoError(t, err)
			state = timeless(t, state)
			best := fmt.Sprint(*state.BestLoss, *state.BestStep)
			state.BestLoss, state.BestStep = nil, nil
			left[name] = fmt.Sprintf("%+v best %s %s", state, best, state.Extra)
		case strings.Contains(name, "tfevents"): // has times
			left[name] = ""
		}
	}
	return left
}

// TestRobustnessOfRuns: a run that is interrupted at any step of its disk, also one that was
// resumed or that had met a full disk, ends as one that is not.
func TestRobustnessOfRuns(t *testing.T) {
	points := 2
	if longtest.Exhaustive() { // the campaign of make robustness has others
		points = 100
	}
	text := corpus(t)
	fresh := crashing(t, "train", text)
	fresh.Left = func(out string) map[string]string {
		left := timelessContents(t, out)
		require.Contains(t, left["best.json"], `"step": 2,`, "not the last, so that a lost mark shows")
		require.Contains(t, left, "checkpoints/log-4/model.safetensors")
		require.Contains(t, left, "loss.svg")
		return left
	}
	resumed := crashing(t, "train, resumed", text)
	resumed.Begin = func(folder string) {
		interrupt(t, smallest(t, text, folder, "train.steps=6", "train.eval_every=2", "train.checkpoint_every=3", "train.keep=1",
			"train.keep_log=true", "train.lr=1", "train.schedule=constant", "train.warmup=0"), 3, trainer.Options{})
	}
	faulty := crashing(t, "train, after a full disk", text)
	faulty.Begin = func(folder string) { require.Error(t, fresh.Do(folder, crash.FullAfter(60))) }
	varied := crashing(t, "train, Muon, bf16, accumulation, samples", text, "train.optim={kind: muon}", "device.precision=bf16", "train.accumulate=2",
		"train.log_norms=2", "sample={every: 2, tokens: 4}", "train.tensorboard=true")
	for _, w := range []crash.Work{fresh, resumed, faulty, varied} {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			crash.Test(t, w, points)
		})
	}
}

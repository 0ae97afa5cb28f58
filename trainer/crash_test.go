package trainer_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// crashes tests what can happen to a small run at each of its file-system steps.
type crashes struct {
	t      *testing.T
	text   string
	whole  map[string]string // the files that an unbroken run leaves
	stride int               // try only every stride-th point
	tried  int
}

// run returns the run for a folder: six steps, three validations of which the first is the best,
// and four checkpoints of which few are kept.
func (c *crashes) run(out string) *runconfig.Run {
	return smallest(c.t, c.text, out, "train.steps=6", "train.eval_every=2", "train.checkpoint_every=3", "train.keep=1",
		"train.keep_log=true", "train.lr=1", "train.schedule=constant", "train.warmup=0")
}

// train trains to the end, or to the first error.
func (c *crashes) train(out string, disk checkpoint.Disk, resume trainer.Resume) error {
	tr, err := trainer.OpenOn(context.Background(), c.run(out), trainer.Options{Resume: resume}, disk)
	if err != nil {
		return err
	}
	defer tr.Close()
	_, err = tr.Run(context.Background())
	return err
}

// left returns everything in a finished run's folder that does not depend on time: the numbers of
// the metrics, weights, moments and state, best.json, config, picture, and the names of all files.
func (c *crashes) left(out string) map[string]string {
	left := map[string]string{"metrics": strings.Join(losses(c.t, out), "\n")}
	require.NoError(c.t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(out, path)
		switch name = filepath.ToSlash(name); {
		case name == "metrics.jsonl", name == ".lock":
			left[name] = ""
		case filepath.Base(name) == "state.json" && !strings.Contains(name, "/log-"):
			state, err := checkpoint.ReadState(filepath.Dir(path))
			require.NoError(c.t, err)
			state = timeless(c.t, state)
			left[name] = fmt.Sprintf("%+v best %v of step %v, %s", state, *state.BestLoss, *state.BestStep, state.Extra)
			left[name] = strings.NewReplacer(fmt.Sprint(state.BestLoss), "", fmt.Sprint(state.BestStep), "").Replace(left[name])
		default:
			content, err := os.ReadFile(path)
			require.NoError(c.t, err)
			left[name] = strings.ReplaceAll(string(content), out, "OUT")
		}
		return nil
	}))
	return left
}

// finishes resumes the run in a folder and requires the same end as for an unbroken run.
func (c *crashes) finishes(out, what string) {
	c.t.Helper()
	c.tried++
	require.NoError(c.t, c.train(out, checkpoint.Disk{}, trainer.ResumeAuto), what)
	got := c.left(out)
	for name, want := range c.whole {
		require.Equal(c.t, want, got[name], "%s: %s", what, name)
	}
	for name := range got {
		require.Contains(c.t, c.whole, name, what)
	}
	require.NoError(c.t, os.RemoveAll(out))
}

// folder returns a copy of a folder, or a path for a new one if from is empty.
func (c *crashes) folder(from string) string {
	out := filepath.Join(c.t.TempDir(), "run")
	if _, err := os.Stat(from); err == nil {
		require.NoError(c.t, os.CopyFS(out, os.DirFS(from)))
	}
	return out
}

// walk tries every point of a run that starts with the files in a folder. There the process is
// killed; or the machine loses power, and with it the metrics written since they were last flushed,
// or half of these; or the disk fails once, or from then on.
func (c *crashes) walk(scenario, from string) {
	points := c.kill(scenario, from)
	for point := 0; point < points; point += c.stride {
		for _, lasting := range []bool{false, true} {
			out, at, what := c.folder(from), 0, ""
			disk := checkpoint.Disk{Before: func(step, path string) error {
				at++
				if at-1 == point || lasting && at > point {
					if what == "" {
						what = fmt.Sprintf("%s: point %d fails (and so on: %t): %s %s", scenario, point, lasting, step, path)
					}
					return &fs.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
				}
				return nil
			}}
			if err := c.train(out, disk, trainer.ResumeAuto); err != nil {
				require.NotContains(c.t, err.Error(), "\n", what)
			}
			require.NotEmpty(c.t, what)
			c.finishes(out, what)
		}
	}
}

// kill tries the kills and power cuts of one run and returns the number of points.
func (c *crashes) kill(scenario, from string) (points int) {
	out := c.folder(from)
	metrics := filepath.Join(out, "metrics.jsonl")
	var flushed, flushing int64 // bytes of the metrics on the device; and after the step that is under way
	disk := checkpoint.Disk{Before: func(step, path string) error {
		flushed = max(flushed, flushing)
		size := int64(0)
		if info, err := os.Stat(metrics); err == nil {
			size = info.Size()
		}
		if path == metrics && (step == "sync" || step == "open") {
			flushing = size
		}
		if points++; (points-1)%c.stride != 0 {
			return nil
		}
		what := fmt.Sprintf("%s: point %d: before %s %s", scenario, points-1, step, path)
		c.finishes(c.folder(out), what+" the process is killed")
		if path != metrics && step == "rename" { // the file is another one now
			return nil
		}
		for cut, to := range map[string]int64{"the power is cut": flushed, "the power is cut within a line": (flushed + size) / 2} {
			if flushed > 0 && to < size {
				dead := c.folder(out)
				require.NoError(c.t, os.Truncate(filepath.Join(dead, "metrics.jsonl"), to))
				c.finishes(dead, what+" "+cut)
			}
		}
		return nil
	}}
	require.NoError(c.t, c.train(out, disk, trainer.ResumeAuto))
	c.finishes(out, scenario+" is whole")
	return points
}

// TestARunSurvivesWhateverStepOfItsFails fails every create, open, write, flush, close, rename, and
// every making and removing of a folder, in a small run, in a resumed one, and in one resumed after
// a fault. Ordinary tests try some of these points, long tests every third, and exhaustive tests
// all.
func TestARunSurvivesWhateverStepOfItsFails(t *testing.T) {
	c := &crashes{t: t, text: corpus(t), stride: 29}
	switch {
	case longtest.Exhaustive():
		c.stride = 1
	case longtest.Enabled():
		c.stride = 3
	}
	out := c.folder("")
	require.NoError(t, c.train(out, checkpoint.Disk{}, trainer.ResumeNone))
	c.whole = c.left(out)
	c.whole[".lock"] = ""
	require.Contains(t, c.whole["best.json"], `"step": 2,`)
	require.Contains(t, c.whole, "loss.svg")
	require.Contains(t, c.whole, "checkpoints/log-4/model.safetensors")

	stopped := c.folder("")
	interrupt(t, c.run(stopped), 3, trainer.Options{})
	faulty, points := c.folder(""), 0
	_ = c.train(faulty, checkpoint.Disk{Before: func(step, path string) error {
		if points++; points > 60 {
			return &fs.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
		}
		return nil
	}}, trainer.ResumeNone)
	for scenario, from := range map[string]string{"a fresh run": "", "a resumed run": stopped, "a run resumed after a fault": faulty} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			c := *c
			c.t = t
			c.walk(scenario, from)
			require.Positive(t, c.tried)
			t.Logf("%d crashes and faults tried", c.tried)
		})
	}
}

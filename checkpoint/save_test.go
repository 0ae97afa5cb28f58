package checkpoint

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkpointAt returns a checkpoint whose weights, moments and state all depend on its step; mark
// distinguishes two checkpoints of one step.
func checkpointAt(step int, mark float32) *Checkpoint {
	loss := 3.0 + float64(mark)
	return &Checkpoint{
		State: State{
			Step: step, Tokens: int64(step) * 1024, BatchPosition: math.MaxUint64 - uint64(step), Seed: math.MaxUint64,
			CorpusFingerprint: "corpus", ConfigDigest: "config", OptimizerSteps: step, BadSteps: 1, BestLoss: &loss,
			Extra: map[string]json.RawMessage{"sampler": json.RawMessage(`{"a":[1,2],"b":"<x>"}`)},
		},
		Model:         []Tensor{{"w", []int{2}, []float32{float32(step), mark}}},
		Optimizer:     []Tensor{{"w.m", []int{2}, []float32{mark, math.Float32frombits(0x7fc00007)}}, {"w.v", []int{2}, []float64{1, 2}}},
		ModelMetadata: map[string]string{MetadataConfig: smallConfig},
	}
}

func mustSave(t *testing.T, runDir string, c *Checkpoint) string {
	t.Helper()
	dir, err := Disk{}.Save(runDir, c)
	require.NoError(t, err)
	return dir
}

func requireSame(t *testing.T, want, got *Checkpoint) {
	t.Helper()
	state := got.State
	assert.Equal(t, FormatVersion, state.Version)
	assert.Len(t, state.Files, 2)
	state.Version, state.Files = want.State.Version, want.State.Files
	assert.Equal(t, want.State, state)
	require.Len(t, got.Model, len(want.Model))
	require.Len(t, got.Optimizer, len(want.Optimizer))
	assert.Equal(t, want.ModelMetadata[MetadataConfig], got.ModelMetadata[MetadataConfig])
	for _, pair := range [][2][]Tensor{{want.Model, got.Model}, {want.Optimizer, got.Optimizer}} {
		read := File{Tensors: pair[1]}
		for _, tensor := range pair[0] {
			found, err := read.Tensor(tensor.Name)
			require.NoError(t, err)
			sameBits(t, tensor, found)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	runDir := filepath.Join(t.TempDir(), "run")
	want := checkpointAt(500, 0.5)
	dir := mustSave(t, runDir, want)
	assert.Equal(t, filepath.Join(runDir, "checkpoints", "step-00000500"), dir)
	assert.ElementsMatch(t, []string{"model.safetensors", "optimizer.safetensors", "state.json"}, namesIn(t, dir))
	assert.ElementsMatch(t, []string{"checkpoints", "latest.json"}, namesIn(t, runDir))
	assert.Equal(t, []string{"step-00000500"}, namesIn(t, filepath.Join(runDir, "checkpoints")))
	assert.Zero(t, want.State.Version, "the caller's state was changed")

	got, err := Load(dir)
	require.NoError(t, err)
	requireSame(t, want, got)
	require.NoError(t, Verify(dir))
	_, err = ReadModel(filepath.Join(dir, ModelFile))
	require.NoError(t, err, "the model file stands alone")

	// A loaded checkpoint saves to the same bytes.
	other := filepath.Join(t.TempDir(), "other")
	dir2 := mustSave(t, other, got)
	for _, name := range []string{ModelFile, OptimizerFile, StateFile} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(dir2, name))
		require.NoError(t, err)
		assert.Equal(t, string(a), string(b), name)
	}
}

func TestSaveRefuses(t *testing.T) {
	cases := map[string]func(c *Checkpoint){
		"step: want >= 0, got -1":        func(c *Checkpoint) { c.State.Step = -1 },
		"residua.config: want":           func(c *Checkpoint) { c.ModelMetadata = nil },
		`tensor "w" is given twice`:      func(c *Checkpoint) { c.Model = append(c.Model, c.Model[0]) },
		"optimizer.safetensors: tensor":  func(c *Checkpoint) { c.Optimizer[0].Shape = []int{7} },
		"state.json: json":               func(c *Checkpoint) { c.State.Extra["bad"] = json.RawMessage("{") },
		"a tensor has no name: name it":  func(c *Checkpoint) { c.Model[0].Name = "" },
		`tensor "w.m": Data is a string`: func(c *Checkpoint) { c.Optimizer[0].Data = "text" },
	}
	for want, change := range cases {
		runDir := t.TempDir()
		c := checkpointAt(3, 0)
		change(c)
		_, err := Disk{}.Save(runDir, c)
		require.ErrorContains(t, err, want)
		assert.NotContains(t, namesIn(t, runDir), "latest.json")
		_, _, err = Latest(runDir)
		assert.ErrorIs(t, err, ErrNone)
	}
}

// A loss that JSON cannot hold is stored as none.
func TestBestLossIsNaNSafe(t *testing.T) {
	for _, loss := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		c := checkpointAt(1, 0)
		c.State.BestLoss = &loss
		got, err := Load(mustSave(t, t.TempDir(), c))
		require.NoError(t, err)
		assert.Nil(t, got.State.BestLoss)
	}
	third := 1.0 / 3
	c := checkpointAt(1, 0)
	c.State.BestLoss = &third
	got, err := Load(mustSave(t, t.TempDir(), c))
	require.NoError(t, err)
	assert.Equal(t, third, *got.State.BestLoss)
}

// scenarios lists the situations in which a Save can be interrupted.
var scenarios = []struct {
	name    string
	prepare func(t *testing.T, runDir string)
	save    *Checkpoint
	before  *Checkpoint // what Latest must find until the new one is there; nil: nothing
}{
	{"first", func(*testing.T, string) {}, checkpointAt(500, 2), nil},
	{"next", func(t *testing.T, runDir string) { mustSave(t, runDir, checkpointAt(500, 1)) }, checkpointAt(1000, 2), checkpointAt(500, 1)},
	{"same step again", func(t *testing.T, runDir string) {
		mustSave(t, runDir, checkpointAt(250, 1))
		mustSave(t, runDir, checkpointAt(500, 1))
	}, checkpointAt(500, 2), checkpointAt(500, 1)},
	{"earlier step", func(t *testing.T, runDir string) {
		mustSave(t, runDir, checkpointAt(250, 1))
		mustSave(t, runDir, checkpointAt(500, 1))
		mustSave(t, runDir, checkpointAt(250, 1.5))
	}, checkpointAt(300, 2), checkpointAt(250, 1.5)},
}

// copyTree copies what a process killed at this moment would leave.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "killed")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// A process killed before any of Save's file-system steps leaves the old checkpoint or the new one,
// whole; the next Save works and tidies up.
func TestSaveKilledAtEveryStep(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			runDir := t.TempDir()
			scenario.prepare(t, runDir)
			var steps, killed []string
			d := Disk{Before: func(step, path string) error {
				steps = append(steps, step+" "+filepath.Base(path))
				killed = append(killed, copyTree(t, runDir))
				return nil
			}}
			_, err := d.Save(runDir, scenario.save)
			require.NoError(t, err)
			require.Greater(t, len(steps), 14, "%v", steps)
			for i, dir := range killed {
				checkKilled(t, dir, steps[i], scenario.save, scenario.before)
			}
		})
	}
}

func checkKilled(t *testing.T, runDir, where string, saved, before *Checkpoint) {
	t.Helper()
	dir, _, err := Latest(runDir)
	if before == nil && err != nil {
		require.ErrorIs(t, err, ErrNone, "before %s", where)
	} else {
		require.NoError(t, err, "before %s", where)
		got, err := Load(dir)
		require.NoError(t, err, "before %s", where)
		if before == nil || got.Model[0].Data.([]float32)[1] == 2 {
			requireSame(t, saved, got)
		} else {
			requireSame(t, before, got)
		}
	}
	next := checkpointAt(2000, 3)
	mustSave(t, runDir, next)
	dir, warnings, err := Latest(runDir)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	got, err := Load(dir)
	require.NoError(t, err)
	requireSame(t, next, got)
	for _, name := range append(namesIn(t, runDir), namesIn(t, stepsOf(runDir))...) {
		assert.False(t, strings.HasPrefix(name, "."), "%s is left after a kill before %s", name, where)
	}
	if before != nil {
		assert.DirExists(t, StepPath(runDir, before.State.Step), "lost after a kill before %s", where)
	}
	for _, name := range namesIn(t, stepsOf(runDir)) {
		assert.NoError(t, Verify(filepath.Join(stepsOf(runDir), name)), "after a kill before %s", where)
	}
}

// Each file-system step fails in turn, as on a full disk: the error names the checkpoint and the
// cause, no temporary file stays, and a checkpoint loads.
func TestSaveWithEveryStepFailing(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			prepared := t.TempDir()
			scenario.prepare(t, prepared)
			for failing := 0; ; failing++ {
				runDir := copyTree(t, prepared)
				count, failed := 0, ""
				d := Disk{Before: func(step, path string) error {
					if count++; count-1 == failing {
						failed = step + " " + filepath.Base(path)
						return &fs.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
					}
					return nil
				}}
				_, err := d.Save(runDir, scenario.save)
				if failed == "" {
					require.NoError(t, err)
					require.Greater(t, failing, 14)
					return
				}
				checkFailed(t, runDir, failed, err)
				checkKilled(t, runDir, failed, scenario.save, scenario.before)
			}
		})
	}
}

func checkFailed(t *testing.T, runDir, failed string, err error) {
	t.Helper()
	if strings.HasPrefix(failed, "remove .old-") { // saved; the next Save removes it
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, syscall.ENOSPC, failed)
	assert.Contains(t, err.Error(), runDir)
	assert.NotContains(t, err.Error(), "\n")
	names := namesIn(t, runDir)
	if exists(stepsOf(runDir)) {
		names = append(names, namesIn(t, stepsOf(runDir))...)
	}
	for _, name := range names {
		assert.False(t, strings.HasPrefix(name, tmpPrefix), "%s is left after a failing %s", name, failed)
		if strings.HasPrefix(failed, "rename "+stepPrefix) {
			assert.False(t, strings.HasPrefix(name, asidePrefix), "%s was not put back after a failing %s", name, failed)
		}
	}
}

func TestSaveIntoAFile(t *testing.T) {
	runDir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(runDir, nil, 0o600))
	_, err := Disk{}.Save(runDir, checkpointAt(1, 0))
	assert.ErrorContains(t, err, "cannot save "+filepath.Join(runDir, "checkpoints", "step-00000001"))
}

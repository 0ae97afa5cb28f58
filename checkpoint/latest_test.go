package checkpoint

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func flipLastByte(data []byte) []byte {
	data[len(data)-1] ^= 1
	return data
}

// editStep changes the step but leaves the JSON well-formed.
func editStep(text []byte) []byte {
	return []byte(strings.Replace(string(text), `"step": 300`, `"step": 301`, 1))
}

// runWith returns a run folder with a checkpoint at each step, saved in that order.
func runWith(t *testing.T, steps ...int) string {
	t.Helper()
	runDir := t.TempDir()
	for _, step := range steps {
		mustSave(t, runDir, checkpointAt(step, 0))
	}
	return runDir
}

func TestLatestFollowsItsPointer(t *testing.T) {
	runDir := runWith(t, 100, 300, 200) // resumed from 100: 300 belongs to the branch given up
	dir, warnings, err := Latest(runDir)
	require.NoError(t, err)
	assert.Equal(t, StepPath(runDir, 200), dir)
	assert.Empty(t, warnings)
	text, err := os.ReadFile(filepath.Join(runDir, "latest.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"folder": "checkpoints/step-00000200"`)
}

func TestLatestFallsBack(t *testing.T) {
	damage := map[string]func(t *testing.T, runDir string){
		"latest.json: no such file": func(t *testing.T, runDir string) {
			require.NoError(t, os.Remove(filepath.Join(runDir, latestFile)))
			tamper(t, StepPath(runDir, 300), StateFile, flipLastByte)
		},
		"latest.json: the checksum": func(t *testing.T, runDir string) {
			tamper(t, runDir, latestFile, func(text []byte) []byte { return []byte(strings.Replace(string(text), "300", "100", 1)) })
			tamper(t, StepPath(runDir, 300), ModelFile, flipLastByte)
		},
		"state.json: the checksum":      func(t *testing.T, runDir string) { tamper(t, StepPath(runDir, 300), StateFile, editStep) },
		"model.safetensors: sha256":     func(t *testing.T, runDir string) { tamper(t, StepPath(runDir, 300), ModelFile, flipLastByte) },
		"optimizer.safetensors: sha256": func(t *testing.T, runDir string) { tamper(t, StepPath(runDir, 300), OptimizerFile, flipLastByte) },
		"optimizer.safetensors: no such file": func(t *testing.T, runDir string) {
			require.NoError(t, os.Remove(filepath.Join(StepPath(runDir, 300), OptimizerFile)))
		},
		"step-00000300/state.json: no such file": func(t *testing.T, runDir string) { require.NoError(t, os.RemoveAll(StepPath(runDir, 300))) },
	}
	for want, spoil := range damage {
		runDir := runWith(t, 100, 200, 300)
		spoil(t, runDir)
		dir, warnings, err := Latest(runDir)
		require.NoError(t, err, want)
		assert.Equal(t, StepPath(runDir, 200), dir, want)
		assert.Contains(t, strings.Join(warnings, "\n"), filepath.FromSlash(want))
		assert.Equal(t, dir+": using the checkpoint of step 200", warnings[len(warnings)-1])
		_, err = Load(dir)
		assert.NoError(t, err)
	}
}

func TestLatestOfNothing(t *testing.T) {
	for _, runDir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		_, warnings, err := Latest(runDir)
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, runDir)
		assert.Empty(t, warnings)
	}
}

// A run whose checkpoints are all damaged must not look like a new run.
func TestLatestOfOnlyDamaged(t *testing.T) {
	runDir := runWith(t, 100, 200)
	tamper(t, StepPath(runDir, 100), ModelFile, flipLastByte)
	tamper(t, StepPath(runDir, 200), StateFile, flipLastByte)
	_, warnings, err := Latest(runDir)
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrNone)
	assert.ErrorContains(t, err, filepath.Join(StepPath(runDir, 100), ModelFile))
	assert.ErrorContains(t, err, filepath.Join(StepPath(runDir, 200), StateFile))
	assert.Len(t, warnings, 2)

	gone := runWith(t, 100)
	require.NoError(t, os.RemoveAll(stepsOf(gone)))
	_, _, err = Latest(gone)
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrNone)
	tamper(t, gone, latestFile, flipLastByte)
	_, _, err = Latest(gone)
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrNone, "something was here")
}

func TestForeignNamesAreNoSteps(t *testing.T) {
	runDir := runWith(t, 100)
	for _, name := range []string{"step-5", "step-000000500", "step--0000005", "step-+0000005", "step-0000000x", "step-00000200.bak", "notes"} {
		require.NoError(t, os.Mkdir(filepath.Join(stepsOf(runDir), name), 0o700))
	}
	steps, err := listSteps(runDir)
	require.NoError(t, err)
	assert.Equal(t, []stepFolder{{100, StepPath(runDir, 100), false}}, steps)
	step, ok := parseStepName("step-1234567890")
	assert.True(t, ok)
	assert.Equal(t, 1234567890, step)
}

func TestPointerRefusals(t *testing.T) {
	runDir := runWith(t, 100, 200)
	loss := 1.0
	path := filepath.Join(runDir, bestFile)
	for _, p := range []pointer{
		{Version: 1, Step: 100, Folder: "../elsewhere", Loss: &loss},
		{Version: 1, Step: -100, Folder: "checkpoints/step--0000100", Loss: &loss},
		{Version: 1, Step: 100, Folder: "checkpoints/step-00000100"},
	} {
		require.NoError(t, Disk{}.writeSealed(path, p))
		_, _, err := Best(runDir)
		requireDamaged(t, err, path)
	}
	require.NoError(t, Disk{}.writeSealed(path, pointer{Version: 3, Step: 100, Folder: "checkpoints/step-00000100", Loss: &loss}))
	_, _, err := Best(runDir)
	assert.ErrorIs(t, err, ErrNewer)
	assert.ErrorContains(t, err, path)
}

func TestBest(t *testing.T) {
	runDir := runWith(t, 100, 200)
	_, _, err := Best(runDir)
	assert.ErrorIs(t, err, ErrNone)

	require.NoError(t, Disk{}.MarkBest(runDir, 100, 2.5))
	dir, loss, err := Best(runDir)
	require.NoError(t, err)
	assert.Equal(t, StepPath(runDir, 100), dir)
	assert.Equal(t, 2.5, loss)

	assert.ErrorContains(t, Disk{}.MarkBest(runDir, 300, 1), "there is no "+StepPath(runDir, 300))
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		assert.ErrorContains(t, Disk{}.MarkBest(runDir, 200, bad), "its loss is")
	}
	dir, _, err = Best(runDir)
	require.NoError(t, err)
	assert.Equal(t, StepPath(runDir, 100), dir, "a refused mark changed the best")

	// The folder was moved aside by a replacement that did not finish.
	require.NoError(t, os.Rename(StepPath(runDir, 100), asidePath(runDir, 100)))
	dir, _, err = Best(runDir)
	require.NoError(t, err)
	assert.Equal(t, asidePath(runDir, 100), dir)

	tamper(t, dir, ModelFile, flipLastByte)
	_, _, err = Best(runDir)
	assert.ErrorContains(t, err, "the best checkpoint of "+runDir)
}

func TestLatestDoesNotPassOverANewerVersion(t *testing.T) {
	newer := func(text []byte) []byte {
		return []byte(strings.Replace(string(text), `"version": 2`, `"version": 3`, 1))
	}
	for _, name := range []string{latestFile, "checkpoints/step-00000300/" + StateFile} {
		runDir := runWith(t, 100, 200, 300)
		tamper(t, runDir, name, newer)
		_, _, err := Latest(runDir)
		assert.ErrorIs(t, err, ErrNewer, name)
		assert.ErrorContains(t, err, name)
		assert.ErrorIs(t, CheckVersions(runDir), ErrNewer, name)
		_, err = Resolve(runDir)
		assert.ErrorIs(t, err, ErrNewer, name)
	}
	assert.NoError(t, CheckVersions(runWith(t, 100)))
	assert.NoError(t, CheckVersions(t.TempDir()))
}

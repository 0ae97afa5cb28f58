package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLog: weights in the log are a model of their step, which nothing takes for a checkpoint to
// resume from.
func TestLog(t *testing.T) {
	runDir := filepath.Join(t.TempDir(), "run")
	steps, err := LogSteps(runDir)
	require.NoError(t, err)
	require.Empty(t, steps)
	for _, step := range []int{0, 1000, 4} {
		require.NoError(t, Disk{}.SaveLog(runDir, checkpointAt(step, 0.5)))
	}
	assert.False(t, Any(runDir))
	_, _, err = Latest(runDir)
	require.ErrorIs(t, err, ErrNone)

	mustSave(t, runDir, checkpointAt(3, 1))
	mustSave(t, runDir, checkpointAt(7, 1))
	require.NoError(t, Disk{}.Prune(runDir, 1))
	require.NoError(t, Disk{}.Clean(runDir))
	assert.ElementsMatch(t, []string{"log-0", "log-1000", "log-4", "step-00000007"}, namesIn(t, stepsOf(runDir)))
	latest, err := Resolve(runDir)
	require.NoError(t, err)
	assert.Equal(t, StepPath(runDir, 7), latest.StepDir, "not the log's step 1000")
	require.NoError(t, CheckVersions(runDir))

	dir := LogPath(runDir, 4)
	assert.ElementsMatch(t, []string{ModelFile, StateFile}, namesIn(t, dir))
	for path, kind := range map[string]Kind{dir: kindStep, filepath.Join(dir, ModelFile): KindFile} {
		source, err := Resolve(path)
		require.NoError(t, err)
		assert.Equal(t, Source{Kind: kind, ModelPath: filepath.Join(dir, ModelFile), StepDir: dir, RunDir: runDir}, source)
	}
	model, err := ReadModel(filepath.Join(dir, ModelFile))
	require.NoError(t, err)
	w, err := model.Tensor("w")
	require.NoError(t, err)
	assert.Equal(t, []float32{4, 0.5}, w.Data)
	require.NoError(t, verify(dir, ModelFile))

	require.NoError(t, os.Rename(dir, LogPath(runDir, 5)))
	_, err = ReadState(LogPath(runDir, 5))
	require.ErrorContains(t, err, "it is of step 4, its folder's name says 5")
	require.NoError(t, os.Mkdir(filepath.Join(stepsOf(runDir), "log-007"), 0o700))
	steps, err = LogSteps(runDir)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 5, 1000}, steps)
	require.NoError(t, Disk{}.PruneLog(runDir, func(step int) bool { return step == 5 }))
	assert.ElementsMatch(t, []string{"log-007", "log-5", "step-00000007"}, namesIn(t, stepsOf(runDir)))
}

// TestLogIsWhole: whichever step of the disk fails, a folder of the log is the old one, the new one
// or none.
func TestLogIsWhole(t *testing.T) {
	for _, replace := range []bool{false, true} {
		for point := 0; ; point++ {
			runDir, at := filepath.Join(t.TempDir(), "run"), 0
			if replace {
				require.NoError(t, Disk{}.SaveLog(runDir, checkpointAt(2, 0)))
			}
			disk := Disk{Before: func(step, path string) error {
				if at++; at > point {
					return &fs.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
				}
				return nil
			}}
			failed := disk.SaveLog(runDir, checkpointAt(2, 1))
			if dir := LogPath(runDir, 2); exists(dir) {
				require.NoError(t, verify(dir, ModelFile), "point %d", point)
			} else {
				require.False(t, replace)
			}
			require.NoError(t, Disk{}.SaveLog(runDir, checkpointAt(2, 2)))
			require.NoError(t, Disk{}.Clean(runDir))
			require.Equal(t, []string{"log-2"}, namesIn(t, stepsOf(runDir)), "point %d", point)
			if failed == nil {
				require.Greater(t, point, 8)
				break
			}
			require.ErrorIs(t, failed, syscall.ENOSPC)
		}
	}
}

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

func stepsLeft(t *testing.T, runDir string) []int {
	t.Helper()
	steps, err := listSteps(runDir)
	require.NoError(t, err)
	left := []int{}
	for _, s := range steps {
		left = append(left, s.step)
	}
	assert.Len(t, namesIn(t, stepsOf(runDir)), len(left), "something else is left")
	return left
}

func TestPrune(t *testing.T) {
	cases := []struct {
		name       string
		saved      []int
		best, keep int // best 0: none
		want       []int
	}{
		{"fewer than keep", []int{1, 2}, 0, 3, []int{2, 1}},
		{"newest", []int{1, 2, 3, 4}, 0, 2, []int{4, 3}},
		{"best is old", []int{1, 2, 3, 4}, 1, 2, []int{4, 3, 1}},
		{"best is among the newest", []int{1, 2, 3, 4}, 3, 2, []int{4, 3}},
		{"latest is best", []int{1, 2, 3, 4}, 4, 1, []int{4}},
		{"branch given up", []int{1, 5, 6, 2, 3}, 0, 2, []int{3, 2}},
		{"branch given up, few of the new", []int{4, 5, 6, 2, 3}, 0, 3, []int{6, 3, 2}},
		{"best on the branch given up", []int{1, 5, 6, 2, 3}, 5, 1, []int{5, 3}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runDir := runWith(t, c.saved...)
			if c.best > 0 {
				require.NoError(t, Disk{}.MarkBest(runDir, c.best, 1))
			}
			require.NoError(t, Disk{}.Prune(runDir, c.keep))
			assert.Equal(t, c.want, stepsLeft(t, runDir))
			dir, warnings, err := Latest(runDir)
			require.NoError(t, err)
			assert.Empty(t, warnings)
			assert.Equal(t, StepPath(runDir, c.saved[len(c.saved)-1]), dir)
		})
	}
}

func TestPruneRefusesWhenItCannotTell(t *testing.T) {
	runDir := runWith(t, 1, 2, 3)
	assert.ErrorContains(t, Disk{}.Prune(runDir, 0), "want >= 1, got 0")
	require.NoError(t, Disk{}.MarkBest(runDir, 1, 1))
	tamper(t, runDir, bestFile, flipLastByte)
	assert.ErrorContains(t, Disk{}.Prune(runDir, 1), filepath.Join(runDir, bestFile))
	assert.Equal(t, []int{3, 2, 1}, stepsLeft(t, runDir))
	require.NoError(t, Disk{}.Prune(t.TempDir(), 1), "a run without checkpoints")
}

// Without latest.json, the newest whole checkpoint is the latest, and stays.
func TestPruneWithoutPointerKeepsTheNewestWholeOne(t *testing.T) {
	runDir := runWith(t, 1, 2, 3)
	require.NoError(t, os.Remove(filepath.Join(runDir, latestFile)))
	tamper(t, StepPath(runDir, 3), ModelFile, flipLastByte)
	require.NoError(t, Disk{}.Prune(runDir, 1))
	assert.Equal(t, []int{2}, stepsLeft(t, runDir))

	tamper(t, StepPath(runDir, 2), ModelFile, flipLastByte)
	assert.ErrorContains(t, Disk{}.Prune(runDir, 1), "removed no checkpoint")
	assert.Equal(t, []int{2}, stepsLeft(t, runDir))
}

// Killed or failing at any step, Prune leaves only whole step folders under their names, and the
// latest.
func TestPruneKilledAtEveryStep(t *testing.T) {
	runDir := runWith(t, 1, 2, 3, 4)
	require.NoError(t, Disk{}.MarkBest(runDir, 2, 1))
	var killed []string
	d := Disk{Before: func(string, string) error {
		killed = append(killed, copyTree(t, runDir))
		return nil
	}}
	require.NoError(t, d.Prune(runDir, 1))
	require.Equal(t, []int{4, 2}, stepsLeft(t, runDir))
	require.Len(t, killed, 4) // rename, remove for each of two
	for _, dir := range killed {
		steps, err := listSteps(dir)
		require.NoError(t, err)
		for _, s := range steps {
			assert.NoError(t, Verify(s.dir))
		}
		mustSave(t, dir, checkpointAt(5, 0))
		require.NoError(t, Disk{}.Prune(dir, 2))
		assert.Equal(t, []int{5, 4, 2}, stepsLeft(t, dir))
	}
	failing := Disk{Before: func(step, path string) error { return &fs.PathError{Op: step, Path: path, Err: syscall.EACCES} }}
	err := failing.Prune(runWith(t, 1, 2), 1)
	assert.ErrorIs(t, err, syscall.EACCES)
	assert.ErrorContains(t, err, "cannot remove")
}

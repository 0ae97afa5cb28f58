package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

const logPrefix = "log-"

// LogPath returns the folder that keeps a step's weights without the optimizer's state, for
// analyses over training: runDir/checkpoints/log-512. [Resolve] opens it; [Latest], [Best] and
// [Disk.Prune] ignore it.
func LogPath(runDir string, step int) string {
	return filepath.Join(stepsOf(runDir), logPrefix+strconv.Itoa(step))
}

// parseLogName parses a name such as "log-512"; ok is false for other spellings of the number.
func parseLogName(name string) (step int, ok bool) {
	digits, ok := strings.CutPrefix(name, logPrefix)
	if !ok {
		return 0, false
	}
	step, err := strconv.Atoi(digits)
	return step, err == nil && step >= 0 && digits == strconv.Itoa(step)
}

// LogSteps returns the steps of a run that have a folder as in [LogPath], in ascending order; none
// if the run does not exist.
func LogSteps(runDir string) ([]int, error) {
	entries, err := os.ReadDir(stepsOf(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var steps []int
	for _, entry := range entries {
		if step, ok := parseLogName(entry.Name()); ok {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, errors.WithStack(err)
}

// SaveLog writes c's model and state, but not its optimizer, into the folder of [LogPath],
// completely or not at all. It replaces a folder of the step. The caller must hold the run's
// [Lock].
func (d Disk) SaveLog(runDir string, c *Checkpoint) error {
	if err := c.State.check(); err != nil {
		return errors.Wrap(err, "checkpoint")
	}
	model, _, state := c.files()
	return d.WriteFolder(LogPath(runDir, c.State.Step), true, model, state)
}

// PruneLog removes the folders of [LogPath] whose steps keep refuses. The caller must hold the
// run's [Lock].
func (d Disk) PruneLog(runDir string, keep func(step int) bool) error {
	steps, err := LogSteps(runDir)
	for _, step := range steps {
		if dir := LogPath(runDir, step); err == nil && !keep(step) {
			err = errors.Wrapf(d.discard(dir), "cannot remove %s", dir)
		}
	}
	return err
}

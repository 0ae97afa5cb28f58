package checkpoint

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pkg/errors"
)

const (
	stepsFolder = "checkpoints"
	stepPrefix  = "step-"
	asidePrefix = ".old-" // begins the name of a step folder that a newer one of the same step is replacing
	stepDigits  = 8
)

func stepName(step int) string { return fmt.Sprintf("%s%0*d", stepPrefix, stepDigits, step) }

func stepsOf(runDir string) string { return filepath.Join(runDir, stepsFolder) }

// StepPath returns the path of the checkpoint of a step in a run folder.
func StepPath(runDir string, step int) string { return filepath.Join(stepsOf(runDir), stepName(step)) }

func asidePath(runDir string, step int) string {
	return filepath.Join(stepsOf(runDir), asidePrefix+stepName(step))
}

// stepFolder is a step folder on disk, under its own name or moved aside.
type stepFolder struct {
	step  int
	dir   string
	aside bool
}

// parseStepName parses a name such as "step-00000500"; ok is false for other spellings of the
// number.
func parseStepName(name string) (step int, ok bool) {
	digits, ok := strings.CutPrefix(name, stepPrefix)
	if !ok {
		return 0, false
	}
	step, err := strconv.Atoi(digits)
	return step, err == nil && step >= 0 && name == stepName(step)
}

// listSteps returns the step folders of a run, newest first; none if the run does not exist.
func listSteps(runDir string) ([]stepFolder, error) {
	entries, err := os.ReadDir(stepsOf(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var steps []stepFolder
	for _, entry := range entries {
		name, aside := strings.CutPrefix(entry.Name(), asidePrefix)
		if step, ok := parseStepName(name); ok {
			steps = append(steps, stepFolder{step, filepath.Join(stepsOf(runDir), entry.Name()), aside})
		}
	}
	slices.SortStableFunc(steps, func(a, b stepFolder) int {
		if a.step == b.step && a.aside != b.aside {
			return strings.Compare(b.dir, a.dir) // puts "step-…" before ".old-step-…"
		}
		return cmp.Compare(b.step, a.step)
	})
	return steps, nil
}

// Any tells whether a run folder has a step folder, damaged or not, or cannot be read.
func Any(runDir string) bool {
	steps, err := listSteps(runDir)
	return len(steps) > 0 || err != nil && !errors.Is(err, syscall.ENOTDIR)
}

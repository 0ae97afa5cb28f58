package checkpoint

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"
)

// Prune removes old step folders. It keeps the newest keep (at least 1), those that latest.json and
// best.json name, and the steps in also. Steps after the latest belong to a branch that was given
// up (the run was resumed from before them); they count as older than all others. If best.json
// cannot be read, Prune returns an error and removes nothing, because the best could be among the
// folders to remove. The caller must hold the run's [Lock].
func (d Disk) Prune(runDir string, keep int, also ...int) error {
	if keep < 1 {
		return errors.Errorf("%s: checkpoints to keep: want >= 1, got %d", runDir, keep)
	}
	steps, err := listSteps(runDir)
	if err != nil || len(steps) == 0 {
		return err
	}
	steps = slices.DeleteFunc(steps, func(s stepFolder) bool { return s.aside })
	current, err := latestStep(runDir)
	if err != nil {
		return errors.Wrap(err, "removed no checkpoint")
	}
	best, err := readPointer(runDir, bestFile)
	if errors.Is(err, fs.ErrNotExist) {
		best.Step = current
	} else if err != nil {
		return errors.Wrap(err, "removed no checkpoint")
	}
	kept := 0
	for _, s := range branchFirst(steps, current) {
		if kept < keep || s.step == current || s.step == best.Step || slices.Contains(also, s.step) {
			kept++
			continue
		}
		if err := d.discard(s.dir); err != nil {
			return errors.Wrapf(err, "cannot remove %s", s.dir)
		}
	}
	return nil
}

// latestStep returns the step of the folder that Latest would return. It computes checksums only if
// latest.json is not sufficient.
func latestStep(runDir string) (int, error) {
	p, err := readPointer(runDir, latestFile)
	if err == nil && exists(StepPath(runDir, p.Step)) {
		return p.Step, nil
	}
	dir, _, err := Latest(runDir)
	if err != nil {
		return 0, err
	}
	state, err := readState(filepath.Join(dir, StateFile))
	return state.Step, err
}

// branchFirst orders the steps, newest first: those up to the current one, then the later ones.
func branchFirst(steps []stepFolder, current int) []stepFolder {
	beyond := slices.IndexFunc(steps, func(s stepFolder) bool { return s.step <= current })
	if beyond < 0 {
		return steps
	}
	return append(slices.Clone(steps[beyond:]), steps[:beyond]...)
}

// discard renames a step folder before removing it, so that a half-removed folder never has the
// name of a good one.
func (d Disk) discard(dir string) error {
	tmp := filepath.Join(filepath.Dir(dir), temporary(filepath.Base(dir)))
	if err := d.rename(dir, tmp); err != nil {
		return err
	}
	return d.remove(tmp)
}

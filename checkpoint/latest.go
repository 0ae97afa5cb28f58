package checkpoint

import (
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

const (
	latestFile = "latest.json"
	bestFile   = "best.json"
)

// ErrNone is in the chain of the error of [Latest] and [Best] if a run has no such checkpoint at
// all, so that it is safe to start anew. If a run has checkpoints and all are damaged, the error is
// another one.
var ErrNone = errors.New("no checkpoint")

// pointer is the content of latest.json and best.json, which are sealed like state.json.
type pointer struct {
	Version int      `json:"version"`
	Step    int      `json:"step"`
	Folder  string   `json:"folder"`         // relative to the run folder, for people and scripts
	Loss    *float64 `json:"loss,omitempty"` // best.json: the validation loss, nats a token
}

func (d Disk) writePointer(runDir, name string, p pointer) error {
	p.Version = FormatVersion
	p.Folder = stepsFolder + "/" + stepName(p.Step)
	return d.writeSealed(filepath.Join(runDir, name), p)
}

func readPointer(runDir, name string) (pointer, error) {
	var p pointer
	path := filepath.Join(runDir, name)
	if err := readSealed(path, &p); err != nil {
		return pointer{}, err
	}
	if p.Step < 0 || p.Folder != stepsFolder+"/"+stepName(p.Step) {
		return pointer{}, damagedf("%s: folder %q does not belong to step %d: damaged", path, p.Folder, p.Step)
	}
	return p, nil
}

// Latest returns the step folder to resume from: the one that latest.json names or, if that is
// missing or damaged, the newest undamaged one. The warnings say which folders were skipped and
// why, and then which step is used. Every file of the returned folder has been compared with its
// checksum. The error wraps [ErrNone] if the run has no step folder, and [ErrNewer] if the choice
// would skip something that a newer program wrote.
//
// The folder may have a name like ".old-step-…": a replacement of that step was interrupted, and
// the next [Disk.Save] tidies up.
func Latest(runDir string) (dir string, warnings []string, err error) { return latest(runDir, Verify) }

func latest(runDir string, check func(dir string) error) (dir string, warnings []string, err error) {
	steps, err := listSteps(runDir)
	if err != nil {
		return "", nil, err
	}
	p, err := readPointer(runDir, latestFile)
	switch {
	case err == nil:
		steps = append(candidates(runDir, p.Step), slices.DeleteFunc(steps, func(s stepFolder) bool { return s.step == p.Step })...)
	case len(steps) == 0 && errors.Is(err, fs.ErrNotExist):
		return "", nil, errors.Wrap(ErrNone, runDir)
	case errors.Is(err, ErrNewer):
		return "", nil, err
	default:
		warnings = append(warnings, err.Error())
	}
	for _, s := range steps {
		if s.aside && !exists(s.dir) {
			continue
		}
		err := check(s.dir)
		if err == nil {
			if len(warnings) > 0 {
				warnings = append(warnings, fmt.Sprintf("%s: using the checkpoint of step %d", s.dir, s.step))
			}
			return s.dir, warnings, nil
		}
		if errors.Is(err, ErrNewer) {
			return "", nil, err
		}
		warnings = append(warnings, err.Error())
	}
	return "", warnings, errors.Errorf("%s: no usable checkpoint: %s", runDir, strings.Join(warnings, "; "))
}

// CheckVersions returns an error that wraps [ErrNewer] if a newer program wrote anything in a run
// folder, because this program would replace or remove it.
func CheckVersions(runDir string) error {
	for _, name := range []string{latestFile, bestFile} {
		if _, err := readPointer(runDir, name); errors.Is(err, ErrNewer) {
			return err
		}
	}
	steps, err := listSteps(runDir)
	for _, s := range steps {
		if _, err := ReadState(s.dir); errors.Is(err, ErrNewer) {
			return err
		}
	}
	return err
}

// candidates lists the places where a step's folder may be: under its name, or moved aside.
func candidates(runDir string, step int) []stepFolder {
	return []stepFolder{{step, StepPath(runDir, step), false}, {step, asidePath(runDir, step), true}}
}

// MarkBest makes best.json name the saved step folder of step, with its validation loss in nats a
// token. It writes nothing if best.json says so already. The error wraps [ErrNone] if the step
// folder does not exist.
func (d Disk) MarkBest(runDir string, step int, loss float64) error {
	if dir := StepPath(runDir, step); !exists(dir) {
		return errors.Wrapf(ErrNone, "cannot mark step %d as best: save it first: there is no %s", step, dir)
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return errors.Errorf("cannot mark step %d as best: its loss is %v", step, loss)
	}
	if p, err := readPointer(runDir, bestFile); err == nil && p.Step == step && p.Loss != nil && *p.Loss == loss {
		return nil
	}
	return d.writePointer(runDir, bestFile, pointer{Step: step, Loss: &loss})
}

// Marked returns the step that best.json names, without checking its folder; ok is false if
// best.json is missing or unreadable.
func Marked(runDir string) (step int, ok bool) {
	p, err := readPointer(runDir, bestFile)
	return p.Step, err == nil
}

// Best returns the step folder that best.json names and its validation loss in nats a token, after
// comparing every file with its checksum. If that folder is damaged, Best returns an error and does
// not look for another. The error wraps [ErrNone] if no step was marked.
func Best(runDir string) (dir string, loss float64, err error) {
	p, err := readPointer(runDir, bestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, errors.Wrap(ErrNone, filepath.Join(runDir, bestFile))
	}
	if err != nil {
		return "", 0, err
	}
	if p.Loss == nil {
		return "", 0, damagedf("%s: names no loss: damaged", filepath.Join(runDir, bestFile))
	}
	dir = StepPath(runDir, p.Step)
	if aside := asidePath(runDir, p.Step); !exists(dir) && exists(aside) {
		dir = aside
	}
	if err := Verify(dir); err != nil {
		return "", 0, errors.Wrap(err, fmt.Sprintf("the best checkpoint of %s", runDir))
	}
	return dir, *p.Loss, nil
}

package trainer

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/runconfig"
)

// splitAsBefore gives a run that goes on from a checkpoint the micro-batches with which that
// checkpoint's run was trained, if the config leaves them to the memory that is available. What
// cannot be read here is an error where the checkpoint is read.
func (t *Trainer) splitAsBefore() {
	folder, o := t.run.Out, t.options
	if t.run.Train.BatchTokens == 0 || o.Fork == "" && o.Resume == ResumeNone {
		return
	}
	if o.Fork != "" {
		source, _ := checkpoint.Resolve(o.Fork)
		if folder = source.RunDir; folder == "" {
			return
		}
	}
	if earlier, _, err := runconfig.Load(t.run.Zoo(), filepath.Join(folder, configFile), nil); err == nil {
		t.run.SplitAs(earlier)
	}
}

// Changes lists what differs between a run's config and the config.yaml in its folder, one line a
// key. It returns nil if the folder has none.
func Changes(run *runconfig.Run) ([]string, error) {
	file := filepath.Join(run.Out, configFile)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	before, _, err := runconfig.Load(run.Zoo(), file, nil)
	if err != nil {
		return nil, err
	}
	return runconfig.Changes(before, run)
}

// noteChanges reports what has changed in the config of a resumed run since its config.yaml was
// written.
func (t *Trainer) noteChanges() {
	if t.step() == 0 {
		return
	}
	changes, err := Changes(t.run)
	if err != nil {
		t.report.Warn("what has changed in the config is not known: " + err.Error())
	}
	for _, change := range changes {
		t.report.Note("changed in the config: " + change)
	}
}

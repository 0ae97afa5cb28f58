package trainer

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
)

// noteChanges says what has changed in the config of a run that goes on, since its folder's
// config.yaml was written.
func (t *Trainer) noteChanges() {
	file := filepath.Join(t.run.Out, configFile)
	if _, err := os.Stat(file); t.step() == 0 || errors.Is(err, os.ErrNotExist) {
		return
	}
	before, _, err := config.Load(t.run.Zoo(), file, nil)
	if err != nil {
		t.report.Warn("what has changed in the config is not known: " + err.Error())
		return
	}
	changes, err := config.Changes(before, t.run)
	if err != nil {
		t.report.Warn("what has changed in the config is not known: " + err.Error())
		return
	}
	for _, change := range changes {
		t.report.Note("changed in the config: " + change)
	}
}

package trainer

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
)

// configFile is a run's config in its folder.
const configFile = "config.yaml"

// Resume says what to do with a folder that already holds a run.
type Resume string

// The values of Resume; any other is a step folder to go on from.
const (
	ResumeNone Resume = "none" // refuse it
	ResumeAuto Resume = "auto" // go on from its newest whole checkpoint, if there is one
)

// refuseRun refuses a folder that already holds a run, unless that is to go on.
func refuseRun(dir string, resume Resume) error {
	if (resume == ResumeNone || resume == "") && holdsRun(dir) {
		return errors.Errorf("out: %s already holds a run: go on with -resume auto, or choose another folder with -out", dir)
	}
	return nil
}

// openFolder makes the run's folder and locks it; unlock gives it free again. It looks
// again whether the folder holds a run, now that nobody else can start one there.
func openFolder(dir string, resume Resume) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, errors.Wrap(err, "out: want a folder that can be written")
	}
	if unlock, err = checkpoint.Lock(dir); err != nil {
		return nil, err
	}
	if err := refuseRun(dir, resume); err != nil {
		_ = unlock()
		return nil, err
	}
	return unlock, nil
}

// holdsRun tells whether a folder has anything of a run that a new one would overwrite: a
// step's metrics, or a checkpoint. What a run leaves that failed before its first step blocks
// nothing.
func holdsRun(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, metricsFile)); err == nil && info.Size() > 0 {
		return true
	}
	entries, err := os.ReadDir(filepath.Join(dir, "checkpoints"))
	return err == nil && len(entries) > 0
}

// writeConfig writes what the run was made with.
func writeConfig(run *config.Run) error {
	text, err := run.Text()
	if err != nil {
		return err
	}
	return checkpoint.WriteFileAtomic(filepath.Join(run.Out, configFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

package trainer

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/runconfig"
)

// configFile is the name under which a run's folder keeps its config.
const configFile = "config.yaml"

// Resume says what to do with a folder that already holds a run.
type Resume string

// The values of Resume; any other value is the path of a step folder to go on from.
const (
	ResumeNone Resume = "none" // refuse it
	ResumeAuto Resume = "auto" // go on from its newest whole checkpoint, if there is one
)

// refuseRun refuses a folder that already holds a run, unless resume says to go on with it.
func refuseRun(dir string, resume Resume) error {
	if resume == ResumeNone && holdsRun(dir) {
		return errors.WithStack(&RunExistsError{dir})
	}
	return nil
}

// openFolder makes the run's folder and locks it. Once no other process can start a run there, it
// checks again whether the folder already holds one.
func (t *Trainer) openFolder(resume Resume) (err error) {
	out := t.run.Out
	made := absent(filepath.Join(out, checkpoint.LockName))
	if err := t.disk.MakeFolder(out); err != nil {
		return errors.Wrap(err, "out: want a folder that can be written")
	}
	if t.unlock, err = checkpoint.Lock(out); err != nil {
		return err
	}
	t.made = made
	if err := refuseRun(out, resume); err != nil {
		return err
	}
	if err := checkpoint.CheckVersions(out); err != nil {
		return errors.Wrap(err, "out")
	}
	if t.folder, err = os.Stat(out); err != nil {
		return errors.WithStack(err)
	}
	if err := t.disk.Clean(out); err != nil {
		t.report.Warn(err.Error())
	}
	return nil
}

// absent returns the path and those of its parent folders that do not exist, the innermost first.
func absent(path string) (missing []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		path = filepath.Dir(path)
	}
}

// leaveNothing removes the folders that openFolder has made, except those that are no longer empty.
func (t *Trainer) leaveNothing() {
	for len(t.made) > 0 {
		if err := os.Remove(t.made[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		t.made = t.made[1:]
	}
}

// checkFolder returns an error if the run's folder is no longer where it was; gone tells that
// nothing has taken its place.
func (t *Trainer) checkFolder() (gone bool, err error) {
	now, err := os.Stat(t.run.Out)
	switch {
	case err == nil && os.SameFile(now, t.folder):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, errors.WithStack(&FolderError{Out: t.run.Out})
	case err != nil:
		return false, errors.Wrap(err, "out")
	}
	return false, errors.WithStack(&FolderError{Out: t.run.Out, Replaced: true})
}

// holdsRun tells whether a folder has anything that a new run would overwrite: a step's metrics, or
// a checkpoint. What a run leaves that failed before its first step does not count.
func holdsRun(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, metricsFile)); err == nil && info.Size() > 0 {
		return true
	}
	return checkpoint.Any(dir)
}

// writeConfig writes config.yaml, and a copy of the tokenizer's files.
func (t *Trainer) writeConfig() error {
	text, err := t.run.Text()
	if err == nil {
		err = t.disk.WriteFile(filepath.Join(t.run.Out, configFile), text)
	}
	if err != nil || !data.IsTokenizerFile(t.run.Data.Tokenizer) {
		return err
	}
	return t.copyTokenizer(t.run.Data.Tokenizer)
}

// copyTokenizer copies a tokenizer's files into the run's folder, so that its checkpoints can be
// opened wherever the run is moved.
func (t *Trainer) copyTokenizer(path string) error {
	folder := filepath.Join(t.run.Out, runconfig.TokenizerFolder)
	if err := t.disk.MakeFolder(folder); err != nil {
		return err
	}
	for _, name := range data.TokenizerFiles(path) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if errors.Is(err, fs.ErrNotExist) {
			err = t.disk.Remove(filepath.Join(folder, name))
		} else if err == nil {
			err = t.disk.WriteFile(filepath.Join(folder, name), text)
		}
		if err != nil {
			return errors.Wrap(err, "data.tokenizer: copy into the run's folder")
		}
	}
	return nil
}

package trainer

import (
	"io"
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

// folder is a run's folder, which open locks for this process.
type folder struct {
	checkpoint.Disk
	path     string
	unlock   func() error           // nil: not locked
	info     os.FileInfo            // of the folder as it was when it was opened
	made     []string               // folders that open has made, the innermost first
	before   string                 // folder of the run so far, another one's for a fork; "": there is none
	appended []*checkpoint.Appender // files to add to
}

// open makes the folder and locks it. Once no other process can start a run there, it checks again
// whether the folder already holds one.
func (f *folder) open(resume Resume, warn func(string)) (err error) {
	made := absent(filepath.Join(f.path, checkpoint.LockName))
	if err := f.MakeFolder(f.path); err != nil {
		return errors.Wrap(err, "out: want a folder that can be written")
	}
	if f.unlock, err = checkpoint.Lock(f.path); err != nil {
		return err
	}
	f.made = made
	if err := refuseRun(f.path, resume); err != nil {
		return err
	}
	if err := checkpoint.CheckVersions(f.path); err != nil {
		return errors.Wrap(err, "out")
	}
	if f.info, err = os.Stat(f.path); err != nil {
		return errors.WithStack(err)
	}
	if err := f.Clean(f.path); err != nil {
		warn(err.Error())
	}
	return nil
}

// append writes a file anew and opens it to add to.
func (f *folder) append(name string, begin func(w io.Writer) error) (*checkpoint.Appender, error) {
	path := filepath.Join(f.path, name)
	if err := f.WriteFileAtomic(path, begin); err != nil {
		return nil, err
	}
	a, err := f.Append(path)
	if err == nil {
		f.appended = append(f.appended, a)
	}
	return a, err
}

// flush flushes the files to add to. Those that were deleted since the last time are written anew.
func (f *folder) flush(warn func(string)) error {
	for _, a := range f.appended {
		if err := a.Keep(warn); err != nil {
			return err
		}
	}
	return nil
}

// close closes the files and unlocks the folder.
func (f *folder) close() {
	for _, a := range f.appended {
		_ = a.Close()
	}
	f.appended = nil
	if f.unlock != nil {
		_ = f.unlock()
		f.unlock = nil
	}
}

// absent returns the path, if it does not exist, and its missing parent folders, the innermost
// first.
func absent(path string) (missing []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		path = filepath.Dir(path)
	}
}

// leaveNothing removes the folders that open has made, except those that are no longer empty.
func (f *folder) leaveNothing() {
	for len(f.made) > 0 {
		if err := os.Remove(f.made[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		f.made = f.made[1:]
	}
}

// check returns an error if the folder is no longer where it was; gone tells that nothing has taken
// its place.
func (f *folder) check() (gone bool, err error) {
	now, err := os.Stat(f.path)
	switch {
	case err == nil && os.SameFile(now, f.info):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, errors.WithStack(&FolderError{Out: f.path})
	case err != nil:
		return false, errors.Wrap(err, "out")
	}
	return false, errors.WithStack(&FolderError{Out: f.path, Replaced: true})
}

// holdsRun tells whether a folder has anything that a new run would overwrite: a step's metrics, or
// a checkpoint. It ignores the files of a run that failed before its first step.
func holdsRun(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, metricsFile)); err == nil && info.Size() > 0 {
		return true
	}
	return checkpoint.Any(dir)
}

// writeConfig writes config.yaml, and a copy of the tokenizer's files.
func (f *folder) writeConfig(run *runconfig.Run) error {
	text, err := run.Text()
	if err == nil {
		err = f.WriteFile(filepath.Join(f.path, configFile), text)
	}
	if err != nil || !data.IsTokenizerFile(run.Data.Tokenizer) {
		return err
	}
	return f.copyTokenizer(run.Data.Tokenizer)
}

// copyTokenizer copies a tokenizer's files into the folder, so that its checkpoints can be opened
// wherever the run is moved.
func (f *folder) copyTokenizer(path string) error {
	to := filepath.Join(f.path, runconfig.TokenizerFolder)
	if err := f.MakeFolder(to); err != nil {
		return err
	}
	for _, name := range data.TokenizerFiles(path) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if errors.Is(err, fs.ErrNotExist) {
			err = f.Remove(filepath.Join(to, name))
		} else if err == nil {
			err = f.WriteFile(filepath.Join(to, name), text)
		}
		if err != nil {
			return errors.Wrap(err, "data.tokenizer: copy into the run's folder")
		}
	}
	return nil
}

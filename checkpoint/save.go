package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// Save writes the step folder runDir/checkpoints/step-XXXXXXXX, makes latest.json name it, and
// returns the folder. It writes the folder under a temporary name, flushes every file, and renames
// it; an existing folder of the step is replaced. If the process is killed at any moment, the run
// still has its previous checkpoint. After an error nothing of the new folder is left, unless the
// error is that latest.json could not be replaced. The caller must hold the run's [Lock].
func (d Disk) Save(runDir string, c *Checkpoint) (string, error) {
	step := c.State.Step
	if err := c.State.check(); err != nil {
		return "", errors.Wrap(err, "checkpoint")
	}
	dir := StepPath(runDir, step)
	if err := d.makeFolder(stepsOf(runDir)); err != nil {
		return "", errors.Wrapf(err, "cannot save %s", dir)
	}
	_ = d.Clean(runDir) // what cannot be removed does no harm
	tmp := filepath.Join(stepsOf(runDir), temporary(stepName(step)))
	model, optimizer, state := c.files()
	err := d.fillFolder(tmp, []FolderFile{model, optimizer, state})
	if err == nil {
		err = d.moveIn(tmp, dir, asidePath(runDir, step)) // an older folder of the step stays aside until latest.json has been replaced
	}
	if err == nil {
		err = d.syncFolder(stepsOf(runDir))
	}
	if err != nil {
		os.RemoveAll(tmp)
		return "", errors.Wrapf(err, "cannot save %s", dir)
	}
	if err := d.writePointer(runDir, latestFile, pointer{Step: step}); err != nil {
		return "", err
	}
	if aside := asidePath(runDir, step); exists(aside) {
		_ = d.remove(aside) // the next Save removes what is left of it
	}
	return dir, nil
}

// Amend replaces the state of a saved step, to add what is known only later, such as its validation
// loss. Model and optimizer stay the same. The caller must hold the run's [Lock].
func (d Disk) Amend(runDir string, s State) error {
	path := filepath.Join(StepPath(runDir, s.Step), StateFile)
	saved, err := readState(path)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return errors.Wrapf(err, "cannot change %s", path)
	}
	return d.writeSealed(path, s.stored(saved.Files))
}

// files returns the files of a step folder. The state names the checksums of those that were
// written before it.
func (c *Checkpoint) files() (model, optimizer, state FolderFile) {
	sums := map[string]string{}
	summed := func(name string, write func(io.Writer) error) FolderFile {
		return FolderFile{name, func(w io.Writer) error {
			sum := sha256.New()
			err := write(io.MultiWriter(w, sum))
			sums[name] = hex.EncodeToString(sum.Sum(nil))
			return err
		}}
	}
	return summed(ModelFile, func(w io.Writer) error { return encodeModel(w, c.Model, c.ModelMetadata) }),
		summed(OptimizerFile, func(w io.Writer) error { return encodeMarked(w, c.Optimizer, nil, kindOptimizer) }),
		FolderFile{StateFile, func(w io.Writer) error { return writeSealed(w, c.State.stored(sums)) }}
}

package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Save writes the step folder runDir/checkpoints/step-XXXXXXXX and makes latest.json name it; it returns the folder.
// The folder is made whole under a temporary name, every file flushed, and renamed; a step that exists already is
// replaced. Killed at any moment, the run still has its previous checkpoint. On an error nothing of the new one is left,
// unless only latest.json could not be replaced. The caller holds the run's [Lock].
func Save(runDir string, c *Checkpoint) (dir string, err error) { return disk{}.save(runDir, c) }

func (d disk) save(runDir string, c *Checkpoint) (string, error) {
	step := c.State.Step
	if step < 0 {
		return "", errors.Errorf("checkpoint of step %d: want >= 0", step)
	}
	dir := stepPath(runDir, step)
	if err := d.prepare(runDir); err != nil {
		return "", errors.Wrapf(err, "cannot save %s", dir)
	}
	tmp := filepath.Join(stepsOf(runDir), tmpPrefix+stepName(step))
	if err := d.fill(tmp, c); err != nil {
		os.RemoveAll(tmp)
		return "", errors.Wrapf(err, "cannot save %s", dir)
	}
	if err := d.install(runDir, step, tmp); err != nil {
		os.RemoveAll(tmp)
		return "", errors.Wrapf(err, "cannot save %s", dir)
	}
	if err := d.writePointer(runDir, latestFile, pointer{Step: step}); err != nil {
		return "", err
	}
	if aside := asidePath(runDir, step); exists(aside) {
		_ = d.remove(aside) // what is left of it, the next Save removes
	}
	return dir, nil
}

// prepare makes the folder of step folders and removes what a killed process left there.
func (d disk) prepare(runDir string) error {
	root := stepsOf(runDir)
	if !exists(root) {
		if err := d.makeFolder(root); err != nil {
			return err
		}
		if err := d.syncFolder(runDir); err != nil {
			return err
		}
	}
	if err := d.restoreAside(runDir); err != nil {
		return err
	}
	if err := d.clean(root, tmpPrefix); err != nil {
		return err
	}
	return d.clean(runDir, tmpPrefix+latestFile+"-", tmpPrefix+bestFile+"-")
}

// clean removes what is in the folder under a name with one of the prefixes.
func (d disk) clean(folder string, prefixes ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return errors.WithStack(err)
	}
	for _, entry := range entries {
		stale := func(prefix string) bool { return strings.HasPrefix(entry.Name(), prefix) }
		if !slices.ContainsFunc(prefixes, stale) {
			continue
		}
		if err := d.remove(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// restoreAside ends a replacement that was cut short: the old folder goes back to its name if the new one never got
// it, else it is removed.
func (d disk) restoreAside(runDir string) error {
	steps, err := listSteps(runDir)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if !s.aside {
			continue
		}
		if dir := stepPath(runDir, s.step); exists(dir) {
			err = d.remove(s.dir)
		} else {
			err = d.rename(s.dir, dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes the temporary folder with its three files, all flushed.
func (d disk) fill(tmp string, c *Checkpoint) error {
	if err := d.makeFolder(tmp); err != nil {
		return err
	}
	sums := map[string]string{}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{ModelFile, func(w io.Writer) error { return encodeModel(w, c.Model, c.ModelMetadata) }},
		{OptimizerFile, func(w io.Writer) error { return encodeMarked(w, c.Optimizer, nil, kindOptimizer) }},
		{StateFile, func(w io.Writer) error {
			text, err := seal(c.State.stored(sums))
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}},
	}
	for _, file := range files {
		sum := sha256.New()
		err := d.writeFile(filepath.Join(tmp, file.name), func(w io.Writer) error { return file.write(io.MultiWriter(w, sum)) })
		if err != nil {
			return errors.Wrap(err, file.name)
		}
		sums[file.name] = hex.EncodeToString(sum.Sum(nil))
	}
	return d.syncFolder(tmp)
}

// install gives the finished folder its name. An older folder of that name is moved aside first and stays there until
// latest.json has been replaced; readers look for it under both names.
func (d disk) install(runDir string, step int, tmp string) error {
	dir, aside := stepPath(runDir, step), asidePath(runDir, step)
	replace := exists(dir)
	if replace {
		if err := d.rename(dir, aside); err != nil {
			return err
		}
	}
	if err := d.rename(tmp, dir); err != nil {
		if replace {
			os.Rename(aside, dir)
		}
		return err
	}
	return d.syncFolder(stepsOf(runDir))
}

package checkpoint

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// FolderFile is a file of a folder that [WriteFolder] makes.
type FolderFile struct {
	Name  string // without a folder
	Write func(io.Writer) error
}

// WriteFolder makes the folder at path, with those files, whole or not at all: it is made under a temporary name next
// to it, every file flushed to the device, and renamed. A folder that is there already is refused unless replace is
// set; then the two change names in one step or, where the file system has no such step, the old one is moved aside
// until the new one has its name: a process that is killed between leaves it aside, and the next call puts it back.
// What killed calls for the same path have left is removed.
func WriteFolder(path string, replace bool, files ...FolderFile) error {
	return Disk{}.WriteFolder(path, replace, files...)
}

// WriteFolder is [WriteFolder] through this Disk.
func (d Disk) WriteFolder(path string, replace bool, files ...FolderFile) error {
	path = filepath.Clean(path)
	parent, tmp := filepath.Dir(path), folderOf(path, unfinished)
	if err := d.heal(path); err != nil {
		return errors.Wrapf(err, "cannot write %s", path)
	}
	if exists(path) && !replace {
		return errors.Wrapf(os.ErrExist, "cannot write %s", path)
	}
	err := d.makeFolder(parent)
	if err == nil {
		err = d.fillFolder(tmp, files)
	}
	if err == nil {
		err = d.replaceFolder(path, tmp)
	}
	if err != nil {
		os.RemoveAll(tmp)
		return errors.Wrapf(err, "cannot write %s", path)
	}
	return nil
}

// fillFolder makes a folder with files, all flushed.
func (d Disk) fillFolder(folder string, files []FolderFile) error {
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	for _, f := range files {
		if err := d.writeFile(filepath.Join(folder, f.Name), f.Write); err != nil {
			return errors.Wrap(err, f.Name)
		}
	}
	return d.syncFolder(folder)
}

// The two folders that a call makes next to its path.
const (
	unfinished = "new"
	movedAside = "old"
)

// folderOf names such a folder of this process.
func folderOf(path, what string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%s-%s-%08x", tmpPrefix, filepath.Base(path), what, os.Getpid()))
}

// heal puts back the folder that a killed process has moved aside, where nothing has its name, and removes what else
// processes that no longer run have left for a path.
func (d Disk) heal(path string) error {
	for _, what := range []string{movedAside, unfinished} {
		prefix := fmt.Sprintf("%s%s-%s-", tmpPrefix, filepath.Base(path), what)
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			return nil // there is no folder yet, or writing into it says what is wrong
		}
		for _, e := range entries {
			owner, ours := strings.CutPrefix(e.Name(), prefix)
			pid, err := strconv.ParseUint(owner, 16, 31)
			if !ours || err != nil || len(owner) != 8 || int(pid) != os.Getpid() && alive(int(pid)) {
				continue
			}
			left := filepath.Join(filepath.Dir(path), e.Name())
			if what == movedAside && !exists(path) {
				err = d.rename(left, path)
			} else {
				err = d.remove(left)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceFolder gives a finished folder its name; what had it is removed after that.
func (d Disk) replaceFolder(path, tmp string) error {
	if !exists(path) {
		if err := d.rename(tmp, path); err != nil {
			return err
		}
		return d.syncFolder(filepath.Dir(path))
	}
	if err := d.at("rename", path); err != nil {
		return err
	}
	swapped, err := exchangeFolders(tmp, path)
	if err != nil {
		return errors.WithStack(err)
	}
	if !swapped {
		aside := folderOf(path, movedAside)
		if err := d.rename(path, aside); err != nil {
			return err
		}
		if err := d.rename(tmp, path); err != nil {
			os.Rename(aside, path)
			return err
		}
		tmp = aside
	}
	if err := d.syncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return d.remove(tmp)
}

// EncodeTensors writes a safetensors file's bytes, those that [WriteTensors] gives a file.
func EncodeTensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	return encode(w, tensors, metadata)
}

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
	err := d.heal(path)
	if err == nil && exists(path) && !replace {
		err = os.ErrExist
	}
	if err == nil {
		err = d.makeFolder(parent)
	}
	if err == nil {
		err = d.fillFolder(tmp, files)
	}
	if err == nil {
		err = d.replaceFolder(path, tmp)
	}
	if err != nil {
		os.RemoveAll(tmp)
	}
	return errors.Wrapf(err, "cannot write %s", path)
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
		for _, left := range leftIn(filepath.Dir(path), prefix, len("01234567"), func(pid int) bool { return pid != os.Getpid() && alive(pid) }) {
			var err error
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

// leftIn lists what processes that no longer run have left in a folder: names of the prefix and a number of characters more, of which the
// first eight are the process's number. A folder that cannot be read has none: writing into it says what is wrong.
func leftIn(folder, prefix string, more int, runs func(pid int) bool) []string {
	entries, _ := os.ReadDir(folder)
	var all []string
	for _, e := range entries {
		end, ours := strings.CutPrefix(e.Name(), prefix)
		owner, _, _ := strings.Cut(end, "-")
		pid, err := strconv.ParseUint(owner, 16, 31)
		if ours && err == nil && len(end) == more && len(owner) == 8 && !runs(int(pid)) {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// moveIn gives a finished folder its name; what had it is moved aside first, and goes back if that fails.
func (d Disk) moveIn(tmp, path, aside string) error {
	replace := exists(path)
	if replace {
		if err := d.rename(path, aside); err != nil {
			return err
		}
	}
	err := d.rename(tmp, path)
	if err != nil && replace {
		os.Rename(aside, path)
	}
	return err
}

// replaceFolder gives a finished folder its name; what had it is removed after that.
func (d Disk) replaceFolder(path, tmp string) error {
	old := tmp // once they have changed names
	swapped, err := d.exchange(tmp, path)
	if err == nil && !swapped {
		old = folderOf(path, movedAside)
		err = d.moveIn(tmp, path, old)
	}
	if err == nil {
		err = d.syncFolder(filepath.Dir(path))
	}
	if err == nil && exists(old) {
		err = d.remove(old)
	}
	return err
}

// exchange swaps the names of two folders in one step, if both are there and the file system can.
func (d Disk) exchange(a, b string) (swapped bool, err error) {
	if !exists(b) {
		return false, nil
	}
	err = d.do("rename", b, func() (err error) {
		swapped, err = exchangeFolders(a, b)
		return err
	})
	return swapped, err
}

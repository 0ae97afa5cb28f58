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

// FolderFile is a file in a folder that [WriteFolder] writes.
type FolderFile struct {
	Name  string // without a path
	Write func(io.Writer) error
}

// WriteFolder writes the folder at path with the given files, completely or not at all: it makes
// the folder under a temporary name next to path, flushes every file to the device, and renames the
// folder. It refuses to replace a folder unless replace is set. In that case the two folders swap
// names in one step or, if the file system cannot do that, the old one is moved aside until the new
// one has its name. If the process is killed in between, the next call puts the old folder back.
// Whatever killed calls have left for the same path is removed.
func WriteFolder(path string, replace bool, files ...FolderFile) error {
	return Disk{}.WriteFolder(path, replace, files...)
}

// WriteFolder does what [WriteFolder] does, through this Disk.
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

// What a call makes next to path: the new folder, and the old one moved aside.
const (
	unfinished = "new"
	movedAside = "old"
)

// folderOf returns the path of such a folder of this process; what is unfinished or movedAside.
func folderOf(path, what string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%s-%s-%08x", tmpPrefix, filepath.Base(path), what, os.Getpid()))
}

// heal puts back a folder that a killed process has moved aside, if nothing else has its name, and
// removes everything else that processes which no longer run have left for a path.
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

// leftIn lists the files and folders that processes which no longer run have left in a folder.
// Their names consist of prefix and more further characters, the first eight of which are the
// process's number in hex. If the folder cannot be read, leftIn returns none, because writing to
// the folder will report the error.
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

// moveIn renames a finished folder to path. It first moves a folder that is at path aside, and
// moves it back after an error.
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

// replaceFolder renames a finished folder to path, and then removes the folder that was there
// before.
func (d Disk) replaceFolder(path, tmp string) error {
	old := tmp // where the old folder is after the swap
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

// exchange swaps the names of two folders in one step, if both exist and the file system can do
// that.
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

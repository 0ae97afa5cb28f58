package checkpoint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// tmpPrefix starts the name of everything that is not finished yet; [Disk.Clean] removes what a killed process left.
const tmpPrefix = ".tmp-"

// WriteFileAtomic replaces the file at path by what write produces: all of it or none. The bytes go to a temporary in
// the same folder, are flushed to the device, and the temporary is renamed to path; then the folder is flushed. If
// anything fails, the temporary is removed, path keeps its old content, and the error names path and the cause. A
// symbolic link at path is replaced, not followed. What killed processes left of the same path is removed.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return Disk{}.WriteFileAtomic(path, write)
}

// Disk is what writes: its methods do what the functions of the same names do. The zero value is all that a program
// needs. A test sets Before, which is called ahead of each step that changes the file system (create, open, write,
// sync, close, truncate, rename, mkdir, remove) with the step's name and the path; an error from it takes the place of
// the step.
type Disk struct {
	Before func(step, path string) error
}

// do makes a step.
func (d Disk) do(step, path string, act func() error) error {
	if d.Before != nil {
		if err := d.Before(step, path); err != nil {
			return err
		}
	}
	return errors.WithStack(act())
}

// WriteFileAtomic is [WriteFileAtomic] through this Disk.
func (d Disk) WriteFileAtomic(path string, write func(io.Writer) error) error {
	folder, name := filepath.Split(filepath.Clean(path))
	tmp := filepath.Join(folder, temporary(ownedBy(name, os.Getpid())))
	err := d.removeLeft(path)
	if err == nil {
		err = d.writeFile(tmp, write)
	}
	if err == nil {
		if err = d.rename(tmp, path); err != nil {
			os.Remove(tmp)
		}
	}
	if err == nil {
		err = d.syncFolder(filepath.Dir(path))
	}
	return errors.Wrapf(err, "cannot write %s", path)
}

// WriteFile is WriteFileAtomic of a content that is there already.
func (d Disk) WriteFile(path string, content []byte) error {
	return d.WriteFileAtomic(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return errors.WithStack(err)
	})
}

// ownedBy is the name of a process's temporary for a file of that name, before its random end.
func ownedBy(name string, pid int) string { return fmt.Sprintf("%s-%08x", name, pid) }

// removeLeft removes the temporaries of a path whose processes no longer run.
func (d Disk) removeLeft(path string) error {
	for _, left := range leftIn(filepath.Dir(path), tmpPrefix+filepath.Base(path)+"-", len("01234567-01234567"), alive) {
		if err := d.remove(left); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a new file and flushes it to the device; if that fails, or write panics, the file is removed.
func (d Disk) writeFile(path string, write func(io.Writer) error) error {
	f, err := d.open("create", path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	whole := false
	defer func() {
		if !whole {
			_ = f.file.Close()
			os.Remove(path)
		}
	}()
	buffered := bufio.NewWriterSize(f, chunkBytes)
	err = write(buffered)
	if err == nil {
		err = errors.WithStack(buffered.Flush())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	whole = err == nil
	return err
}

func (d Disk) rename(from, to string) error {
	return d.do("rename", to, func() error { return os.Rename(from, to) })
}

// makeFolder makes a folder and those around it that are missing, each flushed into the one around it.
func (d Disk) makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := d.makeFolder(parent); err != nil {
			return err
		}
	}
	made := d.do("mkdir", path, func() error { return os.Mkdir(path, 0o777) })
	if made != nil && !errors.Is(made, os.ErrExist) {
		return made
	}
	err := d.syncFolder(filepath.Dir(path))
	if errors.Is(err, os.ErrPermission) {
		return nil // a folder that one may add to but not read cannot be flushed
	}
	return err
}

// MakeFolder makes a folder, and those around it, so that they outlast a power cut.
func (d Disk) MakeFolder(path string) error {
	return errors.Wrapf(d.makeFolder(filepath.Clean(path)), "cannot make the folder %s", path)
}

func (d Disk) remove(path string) error {
	return d.do("remove", path, func() error { return os.RemoveAll(path) })
}

func (d Disk) syncFolder(path string) error {
	return errors.Wrapf(d.do("sync", path, func() error { return syncFolder(path) }), "flush folder %s", path)
}

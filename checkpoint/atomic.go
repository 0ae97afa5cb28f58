package checkpoint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// tmpPrefix begins the names of unfinished files and folders; [Disk.Clean] removes those of killed
// processes.
const tmpPrefix = ".tmp-"

// WriteFileAtomic replaces the file at path by what write produces, completely or not at all. It
// writes to a temporary file in the same folder, flushes it to the device, renames it to path, and
// flushes the folder. If anything fails, it removes the temporary file, path keeps its old content,
// and the error names path and the cause. A symbolic link at path is replaced and not followed.
// Temporary files that killed processes have left for the same path are removed.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return Disk{}.WriteFileAtomic(path, write)
}

// Disk does all writing: its methods correspond to the functions of the same names. Programs use
// the zero value. A test sets Before, which is called with the name of the step and the path before
// each step that changes the file system (create, open, write, sync, close, truncate, rename,
// mkdir, remove); an error that it returns replaces the step.
type Disk struct {
	Before func(step, path string) error
}

// do carries out a step.
func (d Disk) do(step, path string, act func() error) error {
	if d.Before != nil {
		if err := d.Before(step, path); err != nil {
			return err
		}
	}
	return errors.WithStack(act())
}

// WriteFileAtomic does what [WriteFileAtomic] does, through this Disk.
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

// WriteFile writes a given content as WriteFileAtomic does.
func (d Disk) WriteFile(path string, content []byte) error {
	return d.WriteFileAtomic(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return errors.WithStack(err)
	})
}

// ownedBy returns the name of a process's temporary file for name, without the random end.
func ownedBy(name string, pid int) string { return fmt.Sprintf("%s-%08x", name, pid) }

// removeLeft removes the temporary files for a path whose processes no longer run.
func (d Disk) removeLeft(path string) error {
	for _, left := range leftIn(filepath.Dir(path), tmpPrefix+filepath.Base(path)+"-", len("01234567-01234567"), alive) {
		if err := d.remove(left); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a new file and flushes it to the device; if that fails, or write panics, it
// removes the file.
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

// makeFolder makes a folder with its missing parents, and flushes each into its parent.
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
		return nil // a folder that may be added to but not read cannot be flushed
	}
	return err
}

// MakeFolder makes a folder with its missing parents so that they survive a power cut.
func (d Disk) MakeFolder(path string) error {
	return errors.Wrapf(d.makeFolder(filepath.Clean(path)), "cannot make the folder %s", path)
}

// Remove removes files or folders, if they exist.
func (d Disk) Remove(paths ...string) error {
	for _, path := range paths {
		if err := d.remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (d Disk) remove(path string) error {
	return d.do("remove", path, func() error { return os.RemoveAll(path) })
}

func (d Disk) syncFolder(path string) error {
	return errors.Wrapf(d.do("sync", path, func() error { return syncFolder(path) }), "flush folder %s", path)
}

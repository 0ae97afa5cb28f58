package checkpoint

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// tmpPrefix starts the name of everything that is not finished yet; [Save] removes what a killed process left behind.
const tmpPrefix = ".tmp-"

// WriteFileAtomic replaces the file at path by what write produces: all of it or none. The bytes go to a temporary in
// the same folder, are flushed to the device, and the temporary is renamed to path; then the folder is flushed. If
// anything fails, the temporary is removed, path keeps its old content, and the error names path and the cause. A
// symbolic link at path is replaced, not followed.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return disk{}.replaceFile(path, write)
}

// disk is the set of file-system steps that this package takes to write. before, if set, is called ahead of each with
// its name and path; an error from it is returned in place of the step. Only tests set it.
type disk struct {
	before func(step, path string) error
}

func (d disk) at(step, path string) error {
	if d.before == nil {
		return nil
	}
	return d.before(step, path)
}

func (d disk) replaceFile(path string, write func(io.Writer) error) error {
	folder, name := filepath.Split(filepath.Clean(path))
	tmp := filepath.Join(folder, fmt.Sprintf("%s%s-%08x", tmpPrefix, name, rand.Uint32()))
	err := d.writeFile(tmp, write)
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

// writeFile makes a new file and flushes it to the device; if that fails, or write panics, the file is removed.
func (d disk) writeFile(path string, write func(io.Writer) error) error {
	if err := d.at("create", path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return errors.WithStack(err)
	}
	whole := false
	defer func() {
		if !whole {
			f.Close()
			os.Remove(path)
		}
	}()
	buffered := bufio.NewWriterSize(diskFile{d, f}, chunkBytes)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return errors.WithStack(err)
	}
	if err := d.at("sync", path); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return errors.WithStack(err)
	}
	if err := f.Close(); err != nil {
		return errors.WithStack(err)
	}
	whole = true
	return nil
}

// diskFile lets a test fail a write.
type diskFile struct {
	disk
	f *os.File
}

func (w diskFile) Write(p []byte) (int, error) {
	if err := w.at("write", w.f.Name()); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}

func (d disk) rename(from, to string) error {
	if err := d.at("rename", to); err != nil {
		return err
	}
	return errors.WithStack(os.Rename(from, to))
}

func (d disk) makeFolder(path string) error {
	if err := d.at("mkdir", path); err != nil {
		return err
	}
	return errors.WithStack(os.MkdirAll(path, 0o777))
}

func (d disk) remove(path string) error {
	if err := d.at("remove", path); err != nil {
		return err
	}
	return errors.WithStack(os.RemoveAll(path))
}

func (d disk) syncFolder(path string) error {
	if err := d.at("sync", path); err != nil {
		return err
	}
	return errors.Wrapf(syncFolder(path), "flush folder %s", path)
}

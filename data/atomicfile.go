package data

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// atomicFile is a file that appears under its name only when it is whole and
// on disk: written next to it under another name, synced, renamed.
type atomicFile struct {
	*os.File
	path string
}

func createAtomic(path string) (*atomicFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".unfinished-*-"+filepath.Base(path))
	if err != nil {
		return nil, err
	}
	return &atomicFile{f, path}, nil
}

// commit puts the file under its name; if it cannot, nothing is left.
func (f *atomicFile) commit() error {
	err := f.Chmod(0o644)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return f.abandon(err)
	}
	return syncFolder(filepath.Dir(f.path))
}

// abandon discards the file because of err and returns that with its name.
func (f *atomicFile) abandon(err error) error {
	if left := f.discard(); left != nil {
		return errors.Wrapf(err, "writing %s (and %v)", f.path, left)
	}
	return errors.Wrapf(err, "writing %s", f.path)
}

// discard removes what was written, closed or not.
func (f *atomicFile) discard() error {
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes renames in a folder last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	// Some systems cannot sync a folder; the rename itself has succeeded.
	if err := folder.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return errors.Wrapf(err, "syncing folder %s", path)
	}
	return nil
}

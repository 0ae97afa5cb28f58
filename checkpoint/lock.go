package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// LockName is the name of the lock file in a run folder.
const LockName = ".lock"

// LockedError reports that another process holds a run folder.
type LockedError struct {
	Folder string
	Holder string // "process 1234 on HOST", or "another process" if that is not known
}

// Error says who holds the folder and what to do about it.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: in use by %s: wait for it, stop it, or choose another folder with -out", e.Folder, e.Holder)
}

// Lock locks the run folder, which must exist, for this process. If a running process, including
// this one, holds it, the error is a [*LockedError]. The lock is released by unlock or at the end
// of the process, however it ends. Keep a reference to unlock, because the lock is also released
// when unlock is garbage collected. The file .lock remains and means nothing by itself.
func Lock(runDir string) (unlock func() error, err error) {
	info, err := os.Stat(runDir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot lock the run folder")
	}
	if !info.IsDir() {
		return nil, errors.Errorf("cannot lock the run folder %s: want a folder, got a file", runDir)
	}
	return lockWith(runDir, flock)
}

// lockWith does what Lock does, with the given function to lock an open file.
func lockWith(runDir string, flock func(*os.File) error) (unlock func() error, err error) {
	l, held, err := lockFolder(runDir, flock)
	if err == nil && !held {
		if err = writeHolder(l.file); err != nil {
			l.close()
		}
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot lock the run folder %s", runDir)
	}
	if held {
		return nil, &LockedError{Folder: runDir, Holder: readHolder(runDir)}
	}
	return sync.OnceValue(func() error {
		err := l.file.Truncate(0)
		if closed := l.close(); err == nil {
			err = closed
		}
		return errors.WithStack(err)
	}), nil
}

// folderLock holds what a process keeps open, or keeps on disk, while it holds a folder.
type folderLock struct {
	file, folder *os.File // folder nil: only the file is locked
	owner        string   // path of the owner file, "": none
}

// close releases the folder.
func (l *folderLock) close() error {
	err := l.file.Close()
	if l.folder != nil {
		l.folder.Close()
	}
	if l.owner != "" {
		if removed := os.Remove(l.owner); err == nil {
			err = removed
		}
	}
	return err
}

// writeHolder writes who holds the lock, for the error that other processes get.
func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	holder := fmt.Sprintf("process %d", os.Getpid())
	if host, err := os.Hostname(); err == nil {
		holder += " on " + host
	}
	_, err := f.WriteAt([]byte(holder+"\n"), 0)
	return err
}

// readHolder reads who holds the folder.
func readHolder(runDir string) string {
	if owner := filepath.Join(runDir, ownerName); exists(owner) {
		return fmt.Sprintf("%s (if that has ended, remove %s: this file system has no locks that end with a process)", holderIn(owner), owner)
	}
	return holderIn(filepath.Join(runDir, LockName))
}

func holderIn(path string) string {
	text, err := regular.Read(path, 512)
	line, _, whole := strings.Cut(string(text), "\n")
	if err != nil || !whole || !strings.HasPrefix(line, "process ") {
		return "another process"
	}
	return line
}

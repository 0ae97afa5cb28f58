//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder takes flock(2) on the folder itself, which survives if somebody deletes the file
// .lock, and on that file, for file systems (NFS) that cannot lock a folder. held says that another
// process has the lock. The locks belong to the open files, so a second attempt in this process is
// refused, too, and the kernel drops them when the process ends. On a file system without flock it
// makes an owner file.
func lockFolder(runDir string, flock func(*os.File) error) (l *folderLock, held bool, err error) {
	l = &folderLock{}
	if l.file, err = os.OpenFile(filepath.Join(runDir, LockName), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, false, err
	}
	defer func() {
		if held || err != nil {
			_ = l.close()
			l = nil
		}
	}()
	if folder, err := os.Open(runDir); err == nil {
		if err = flock(folder); err == nil {
			l.folder = folder
		} else {
			folder.Close() // the lock on the file must suffice
		}
		if err == syscall.EWOULDBLOCK {
			return l, true, nil
		}
	}
	switch err = flock(l.file); {
	case err == syscall.EWOULDBLOCK:
		held, err = true, nil
	case errors.Is(err, errors.ErrUnsupported) || err == syscall.ENOLCK:
		l.owner, held, err = takeOwner(runDir, alive)
	case err != nil:
		err = &os.PathError{Op: "flock", Path: l.file.Name(), Err: err}
	}
	return l, held, err
}

// flock locks an open file or folder, or fails at once.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

// alive tells whether a process of this machine may still run.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err != syscall.ESRCH
}

package checkpoint

import (
	"os"
	"path/filepath"
	"syscall"
)

const errorSharingViolation syscall.Errno = 32 // ERROR_SHARING_VIOLATION of winerror.h

// lockFolder opens the file .lock for writing, so that others can only read it and not delete it;
// held says that another process has done so. Windows closes the handle when the process ends.
func lockFolder(runDir string, _ func(*os.File) error) (l *folderLock, held bool, err error) {
	path := filepath.Join(runDir, LockName)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err == errorSharingViolation {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &folderLock{file: os.NewFile(uintptr(handle), path)}, false, nil
}

// flock does nothing: the open file is the lock.
func flock(*os.File) error { return nil }

// alive tells whether a process of this machine runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

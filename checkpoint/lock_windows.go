package checkpoint

import (
	"os"
	"syscall"
)

const errorSharingViolation syscall.Errno = 32 // ERROR_SHARING_VIOLATION of winerror.h

// openLocked opens the file for writing and lets others only read it; held says that someone else has it open so.
// Windows closes the handle when the process ends.
func openLocked(path string) (f *os.File, held bool, err error) {
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
	return os.NewFile(uintptr(handle), path), false, nil
}

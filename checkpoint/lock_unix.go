//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package checkpoint

import (
	"os"
	"syscall"
)

// openLocked opens the file and takes flock(2) on it; held says that someone else has it. The lock belongs to the open
// file, so a second one in this process is refused too, and the kernel drops it when the process ends.
func openLocked(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, false, nil
	}
	f.Close()
	if err == syscall.EWOULDBLOCK {
		return nil, true, nil
	}
	return nil, false, &os.PathError{Op: "flock", Path: path, Err: err}
}

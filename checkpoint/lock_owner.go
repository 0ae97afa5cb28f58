package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// ownerName is the name of a file that serves as the lock on file systems without locks: the
// process that can create it holds the folder. Unlike a lock it remains if the process is killed.
// If that process ran on this machine, the next process takes the file over.
const ownerName = ".lock-owner"

// takeOwner creates the owner file; held tells whether another process holds it.
func takeOwner(runDir string, alive func(pid int) bool) (path string, held bool, err error) {
	path = filepath.Join(runDir, ownerName)
	for range 2 {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			if err = writeHolder(f); err == nil {
				err = f.Close()
			}
			if err != nil {
				os.Remove(path)
			}
			return path, false, err
		}
		if !errors.Is(err, os.ErrExist) {
			return "", false, err
		}
		left, err := os.ReadFile(path)
		if err != nil || !abandoned(string(left), alive) {
			return "", true, nil
		}
		// If two processes find the file abandoned, only one may go on. Only one can rename it, and
		// must then check that the file is the one that it looked at.
		aside := filepath.Join(runDir, temporary(ownerName))
		if os.Rename(path, aside) != nil {
			return "", true, nil
		}
		if moved, err := os.ReadFile(aside); err != nil || string(moved) != string(left) {
			os.Link(aside, path)
			os.Remove(aside)
			return "", true, nil
		}
		os.Remove(aside)
	}
	return "", true, nil
}

// abandoned tells whether a holder was a process of this machine that no longer runs.
func abandoned(holder string, alive func(pid int) bool) bool {
	host, err := os.Hostname()
	if err != nil {
		return false
	}
	var pid int
	if n, err := fmt.Sscanf(holder, "process %d on", &pid); n != 1 || err != nil {
		return false
	}
	return holder == fmt.Sprintf("process %d on %s\n", pid, host) && pid != os.Getpid() && !alive(pid)
}

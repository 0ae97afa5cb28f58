package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// ownerName is the file that stands for the lock where the file system has no locks: who can make it holds the folder.
// Unlike a lock it stays when its process is killed; one of this machine that no longer runs is taken over.
const ownerName = ".lock-owner"

// takeOwner makes the owner file; held says that another process has it.
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
		// Two that find it abandoned must not both go on: renaming is for one of them alone, and what it then holds must
		// be what it looked at.
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

// abandoned tells whether a holder is a process of this machine that no longer runs.
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

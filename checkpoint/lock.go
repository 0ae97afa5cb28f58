package checkpoint

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pkg/errors"
)

const lockName = ".lock"

// LockedError says that another process holds a run folder.
type LockedError struct {
	Folder string
	Holder string // "process 1234 on HOST", or "another process" if that is not known
}

// Error says who holds the folder and what to do about it.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: in use by %s: wait for it, stop it, or choose another folder with -out", e.Folder, e.Holder)
}

// Lock takes the run folder, which must exist, for this process. If a live process (this one too) holds it, the error
// is a [*LockedError]. The lock ends with unlock or with the process, however it ends; keep unlock until then, since
// the lock also ends when unlock is garbage. The file .lock stays behind and means nothing by itself.
func Lock(runDir string) (unlock func() error, err error) {
	info, err := os.Stat(runDir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot lock the run folder")
	}
	if !info.IsDir() {
		return nil, errors.Errorf("cannot lock the run folder %s: it is a %s", runDir, kindOf(info))
	}
	path := filepath.Join(runDir, lockName)
	f, held, err := openLocked(path)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot lock the run folder %s", runDir)
	}
	if held {
		return nil, &LockedError{Folder: runDir, Holder: readHolder(path)}
	}
	if err := writeHolder(f); err != nil {
		f.Close()
		return nil, errors.Wrapf(err, "cannot lock the run folder %s", runDir)
	}
	return sync.OnceValue(func() error {
		err := f.Truncate(0)
		if closed := f.Close(); err == nil {
			err = closed
		}
		return errors.WithStack(err)
	}), nil
}

// writeHolder notes who holds the lock, for the message that others get.
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

func readHolder(path string) string {
	const unknown = "another process"
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 512))
	line, _, whole := strings.Cut(string(text), "\n")
	if err != nil || !whole || !strings.HasPrefix(line, "process ") {
		return unknown
	}
	return line
}

//go:build cuda

package emulator

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// lock waits until no other process builds. The lock ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, errors.Wrapf(err, "locking %s", path)
	}
	return func() { _ = f.Close() }, nil
}

// keep is how long what was built stays in the cache.
const keep = 7 * 24 * time.Hour

// prune removes what was built long ago; what is still in use is then built again.
func (b *builder) prune() error {
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < keep || e.Name() == "lock" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.cache, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

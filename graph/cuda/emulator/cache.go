//go:build cuda

package emulator

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// lock waits until no other process builds. The lock ends at the latest with the process.
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

// keep is how long built files stay in the cache.
const keep = 7 * 24 * time.Hour

// prune removes files that were built long ago; those still in use are then built again.
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

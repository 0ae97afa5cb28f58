//go:build !windows

package checkpoint

import (
	"os"
	"syscall"

	"github.com/pkg/errors"
)

// syncFolder flushes a folder's names to the device. File systems that cannot (some network ones) say EINVAL or
// ENOTSUP; there a rename is as durable as it gets.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

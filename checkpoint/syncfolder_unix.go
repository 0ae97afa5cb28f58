//go:build !windows

package checkpoint

import (
	"os"
	"syscall"

	"github.com/pkg/errors"
)

// syncFolder flushes a folder's entries to the device. File systems that cannot do that (some
// network file systems) report EINVAL or ENOTSUP; a rename is then as durable as they can make it.
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

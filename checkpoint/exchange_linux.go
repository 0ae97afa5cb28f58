package checkpoint

import (
	"golang.org/x/sys/unix"
)

// exchangeFolders swaps two names in one step; swapped is false if the file system cannot do that.
func exchangeFolders(a, b string) (swapped bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP {
		return false, nil
	}
	return err == nil, err
}

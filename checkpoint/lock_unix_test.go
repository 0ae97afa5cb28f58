//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package checkpoint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file system without flock, as some network and user-space ones.
func TestLockWithoutFlock(t *testing.T) {
	without := func(*os.File) error { return syscall.EOPNOTSUPP }
	dir := t.TempDir()
	unlock, err := lockWith(dir, without)
	require.NoError(t, err)
	_, err = lockWith(dir, without)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	assert.Contains(t, err.Error(), fmt.Sprintf("in use by process %d", os.Getpid()))
	assert.Contains(t, err.Error(), "remove "+filepath.Join(dir, ownerName))
	require.NoError(t, unlock())
	assert.NoFileExists(t, filepath.Join(dir, ownerName))

	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	host, err := os.Hostname()
	require.NoError(t, err)
	owner := filepath.Join(dir, ownerName)
	for holder, want := range map[string]bool{
		fmt.Sprintf("process %d on %s\n", ended.Process.Pid, host):     true,
		fmt.Sprintf("process %d on %s\n", os.Getppid(), host):          false,
		fmt.Sprintf("process %d on not-%s\n", ended.Process.Pid, host): false,
		"something else": false,
		"":               false,
	} {
		require.NoError(t, os.WriteFile(owner, []byte(holder), 0o644))
		unlock, err := lockWith(dir, without)
		if !want {
			assert.ErrorAs(t, err, &locked, holder)
			continue
		}
		require.NoError(t, err, holder)
		require.NoError(t, unlock())
	}
}

// One that locks files and no folders, as NFS.
func TestLockWithoutFolderLocks(t *testing.T) {
	files := func(f *os.File) error {
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return syscall.EBADF
		}
		return flock(f)
	}
	dir := t.TempDir()
	unlock, err := lockWith(dir, files)
	require.NoError(t, err)
	_, err = lockWith(dir, files)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.NoError(t, unlock())
	_, err = lockWith(dir, func(*os.File) error { return syscall.EIO })
	assert.ErrorIs(t, err, syscall.EIO)
}

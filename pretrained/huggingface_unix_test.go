//go:build unix

package pretrained_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/pretrained"
)

// A description that never ends, or never begins, is refused at once.
func TestHuggingFaceConfigIsARegularFile(t *testing.T) {
	dir := openForeign(t, gpt2).write(t)
	path := filepath.Join(dir, "config.json")
	replace := func(by func() error) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, by())
	}
	replace(func() error { return syscall.Mkfifo(path, 0o600) })
	requireRefused(t, dir, says(path+": want a regular file, got a pipe: save what it gives in a file and name that"))
	replace(func() error { return os.Symlink("/dev/zero", path) })
	requireRefused(t, dir, says(path+": want a regular file, got a device"))
	replace(func() error { return os.WriteFile(path, nil, 0o600) })
	require.NoError(t, os.Truncate(path, 1<<40))
	requireRefused(t, dir, says(path+": want a file of at most 1048576 bytes, got more"))
}

// TestAPipeIsNoModel: a pipe into which nobody writes is refused at once.
func TestAPipeIsNoModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	refused := make(chan error, 1)
	go func() {
		_, err := pretrained.Open(path)
		refused <- err
	}()
	select {
	case err := <-refused:
		require.ErrorContains(t, err, path+": want a regular file, got a pipe")
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for somebody who writes")
	}
}

package checkpoint

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExtend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	_, err := Disk{}.Extend(path, 3)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, c := range []struct {
		size      int64
		add, want string
	}{{0, "abcdef", "Abcdef"}, {3, "xy", "Abcxy"}, {5, "", "Abcxy"}, {0, "", "A"}} {
		f, err := Disk{}.Extend(path, c.size)
		require.NoError(t, err)
		_, err = f.Write([]byte(c.add))
		require.NoError(t, err)
		_, err = f.WriteAt([]byte("A"), 0)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.NoError(t, f.Close())
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, c.want, string(content))
	}
	_, err = Disk{}.Extend(path, 2)
	require.EqualError(t, err, path+": want at least 2 bytes, got 1: it has been cut short")
	full := Disk{Before: func(step, _ string) error {
		if step == "truncate" {
			return syscall.ENOSPC
		}
		return nil
	}}
	_, err = full.Extend(path, 0)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, Disk{}.Remove(path, path))
	require.NoFileExists(t, path)
}

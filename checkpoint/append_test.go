package checkpoint

import (
	"os"
	"path/filepath"
	"runtime"
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

// TestKeep: a file that loses its name while lines are added to it is written anew, and another of
// that name stays under a name of its own.
func TestKeep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes and moves no open files")
	}
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("before\n"), 0o600))
	f, err := Disk{}.Append(path)
	require.NoError(t, err)
	defer f.Close()
	var warned []string
	keep := func(line string) {
		t.Helper()
		_, err := f.Write([]byte(line))
		require.NoError(t, err)
		require.NoError(t, f.Keep(func(text string) { warned = append(warned, text) }))
	}
	keep("one\n")
	require.Empty(t, warned)
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, f.Sync(), ErrGone)
	keep("two\n")
	require.NoError(t, os.WriteFile(path+".mine", []byte("mine"), 0o600))
	require.NoError(t, os.Rename(path+".mine", path))
	keep("three\n")
	keep("four\n")
	require.Equal(t, []string{
		path + ": it was deleted, moved or replaced while it was written: all that it held is written anew",
		path + ": it was deleted, moved or replaced while it was written: all that it held is written anew, and the file that has its name is kept as " + path + ".replaced",
	}, warned)
	for name, want := range map[string]string{path: "before\none\ntwo\nthree\nfour\n", path + ".replaced": "mine"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

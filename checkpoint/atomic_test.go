package checkpoint

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteFileAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, WriteFileAtomic(path, text("first")))
	require.NoError(t, WriteFileAtomic(path, text("second")))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "second", string(got))
	assert.Equal(t, []string{"config.yaml"}, namesIn(t, dir))
}

// TestWriteFileAtomicRemovesWhatKilledProcessesLeft: it removes only temporary files of the same
// path, and none of a process that runs.
func TestWriteFileAtomicRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	keep := []string{".tmp-x-00000001-01234567", ".tmp-x-7ffffffe", ".tmp-x-7ffffffe-0123456", ".tmp-xy-7ffffffe-01234567", "x-7ffffffe-01234567"}
	for _, name := range append(keep, ".tmp-x-7ffffffe-01234567", ".tmp-x-7ffffffe-89abcdef") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	require.NoError(t, WriteFileAtomic(filepath.Join(dir, "x"), func(io.Writer) error {
		for _, name := range namesIn(t, dir) {
			if strings.HasPrefix(name, fmt.Sprintf(".tmp-x-%08x-", os.Getpid())) {
				keep = append(keep, "x")
				return nil
			}
		}
		return errors.New("the temporary is not named after its process")
	}))
	require.ElementsMatch(t, keep, namesIn(t, dir))
}

func TestWriteFileAtomicInTheCurrentFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, WriteFileAtomic("plain", text("x")))
	assert.Equal(t, []string{"plain"}, namesIn(t, "."))
}

// Whatever step fails, for instance because the disk is full, the old content stays and no
// temporary file does.
func TestWriteFileAtomicKeepsTheOldFileOnFailure(t *testing.T) {
	for _, failing := range []string{"create", "write", "sync", "rename"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "kept")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		d := Disk{Before: func(step, at string) error {
			if step == failing {
				return &fs.PathError{Op: step, Path: at, Err: syscall.ENOSPC}
			}
			return nil
		}}
		err := d.WriteFileAtomic(path, text(strings.Repeat("new", chunkBytes)))
		require.ErrorIs(t, err, syscall.ENOSPC, failing)
		assert.ErrorContains(t, err, "cannot write "+path)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "old", string(got), failing)
		assert.Equal(t, []string{"kept"}, namesIn(t, dir), failing)
	}
}

func TestWriteFileAtomicKeepsTheOldFileWhenTheCallerFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	cause := errors.New("no more words")
	err := WriteFileAtomic(path, func(w io.Writer) error {
		require.NoError(t, text("half")(w))
		return cause
	})
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "cannot write "+path+": no more words")
	assert.PanicsWithValue(t, "caller", func() {
		_ = WriteFileAtomic(path, func(io.Writer) error { panic("caller") })
	})
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))
	assert.Equal(t, []string{"kept"}, namesIn(t, dir))
}

func TestWriteFileAtomicIntoNoFolder(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "x")
	err := WriteFileAtomic(missing, text("x"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "cannot write "+missing)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	assert.ErrorContains(t, WriteFileAtomic(filepath.Join(dir, "file", "x"), text("x")), "cannot write")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	assert.ErrorContains(t, WriteFileAtomic(filepath.Join(dir, "folder"), text("x")), "cannot write")
	assert.ElementsMatch(t, []string{"file", "folder"}, namesIn(t, dir))
}

// A real full device: the kernel refuses the write.
func TestWriteFileOnAFullDevice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	tensors := []Tensor{{"x", []int{1 << 16}, make([]float32, 1<<16)}}
	err = EncodeTensors(f, tensors, nil)
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, "no space left")
}

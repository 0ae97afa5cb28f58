package checkpoint

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lockHelper = "CHECKPOINT_TEST_LOCK" // names the folder that the test program, run as a helper, locks

// TestMain lets the test program act as another trainer: it locks the folder, says so, and waits to
// be ended.
func TestMain(m *testing.M) {
	if dir := os.Getenv(lockHelper); dir != "" {
		unlock, err := Lock(dir)
		fmt.Println("locked:", err)
		bufio.NewReader(os.Stdin).ReadString('\n')
		if unlock != nil {
			unlock()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(dir)
	require.NoError(t, err)
	_, err = Lock(dir)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	assert.Equal(t, dir, locked.Folder)
	assert.Contains(t, err.Error(), dir+": in use by process "+fmt.Sprint(os.Getpid()))
	assert.Contains(t, err.Error(), "-out")
	assert.NotContains(t, err.Error(), "\n")
	require.NoError(t, unlock())
	require.NoError(t, unlock(), "unlocking twice")
	unlock, err = Lock(dir)
	require.NoError(t, err)
	require.NoError(t, unlock())
}

func TestLockGoesToOneOfMany(t *testing.T) {
	dir := t.TempDir()
	var won atomic.Int32
	var unlock func() error
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			u, err := Lock(dir)
			if err == nil {
				won.Add(1)
				unlock = u
				return
			}
			var locked *LockedError
			assert.True(t, errors.As(err, &locked), "%v", err)
		})
	}
	group.Wait()
	require.EqualValues(t, 1, won.Load())
	require.NoError(t, unlock())
}

// Another process holds the lock until it is killed; the text that it wrote into the file then
// locks nothing.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), lockHelper+"="+dir)
	_, err := helper.StdinPipe()
	require.NoError(t, err)
	out, err := helper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, helper.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked: <nil>\n", line)

	_, err = Lock(dir)
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", helper.Process.Pid))
	require.NoError(t, helper.Process.Kill())
	_ = helper.Wait()
	unlock, err := Lock(dir)
	require.NoError(t, err, "a dead process still holds the folder")
	require.NoError(t, unlock())
}

func TestLockRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Lock(filepath.Join(dir, "missing"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "cannot lock the run folder")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Lock(file)
	assert.ErrorContains(t, err, "want a folder, got a file")
	require.NoError(t, os.Mkdir(filepath.Join(dir, LockName), 0o700))
	_, err = Lock(dir)
	assert.ErrorContains(t, err, "cannot lock the run folder "+dir)
	assert.Equal(t, "another process", holderIn(filepath.Join(dir, LockName)))
	for _, text := range []string{"", "process 12", "nonsense\n", strings.Repeat("process ", 1000)} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.Equal(t, "another process", holderIn(file), "%q", text)
	}
}

func TestADeletedLockFileLetsNobodyIn(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(dir)
	require.NoError(t, err)
	_ = os.Remove(filepath.Join(dir, LockName)) // Windows does not let it go
	_, err = Lock(dir)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.NoError(t, unlock())
	unlock, err = Lock(dir)
	require.NoError(t, err)
	require.NoError(t, unlock())
}

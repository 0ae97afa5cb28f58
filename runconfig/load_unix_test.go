//go:build unix

package runconfig

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAConfigMayBeAFIFO(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(file, 0o644))
	go func() { _ = os.WriteFile(file, []byte(smallYAML), 0o644) }()
	run, _, err := Load(zoo, file, nil)
	require.NoError(t, err)
	assert.Equal(t, "vector", run.Model.Stream.Name())
	assert.Equal(t, "fifo", run.Name)
}

func TestAConfigWithoutEndIsRefused(t *testing.T) {
	_, _, err := Load(zoo, "/dev/zero", nil)
	assert.EqualError(t, err, "/dev/zero: want at most 65536 bytes of YAML, got more")
}

// TestAConfigThatNeverComesDoesNotHoldUpAnInterrupt: reading a FIFO that nobody writes to ends with
// the context.
func TestAConfigThatNeverComesDoesNotHoldUpAnInterrupt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(file, 0o644))
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, _, err := LoadContext(ctx, zoo, file, nil)
	assert.ErrorIs(t, err, context.Canceled)
}

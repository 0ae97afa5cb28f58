//go:build !mpi

package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
)

// TestRanksWantMPI checks that a program without MPI says how to build one with it, and that one of
// several processes of a launcher does not train alone.
func TestRanksWantMPI(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-out", filepath.Join(dir, "run"), "-set", "train.accumulate=2"}
	code, _, stderr := runTrain(append(args, "-set", "device.ranks=2")...)
	require.Equal(t, commandline.ExitUsage, code)
	require.Contains(t, stderr, "device.ranks of 2: several ranks need MPI")
	require.Contains(t, stderr, "go build -tags mpi")
	code, stdout, stderr := runTrain(append(args, "-set", "device.ranks=2", "-dry-run")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "steps, ", "one process says what each of two does")
	t.Setenv("PMI_SIZE", "2")
	code, _, stderr = runTrain(args...)
	require.Equal(t, commandline.ExitUsage, code)
	require.Contains(t, stderr, "device.ranks: want 2, for this process was started as one of 2")
	require.NoDirExists(t, filepath.Join(dir, "run"))
}

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/gpucheck"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/longtest"
)

// TestSavedSteps: what a GPU's first steps are compared with is what the CPU computes. The one of
// real size takes half a minute.
func TestSavedSteps(t *testing.T) {
	saved, err := filepath.Abs("../experiment/gpucheck/saved")
	require.NoError(t, err)
	folders, err := os.ReadDir(saved)
	require.NoError(t, err)
	t.Chdir("..") // the configs' paths start there
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			longtest.Represent(t, folder.Name() == "quickstart")
			want, got := filepath.Join(saved, folder.Name()), filepath.Join(t.TempDir(), "run")
			code, _, stderr := runTrain("-config", filepath.Join(want, "config.yaml"), "-out", got, "-set", "device.threads=2")
			require.Equal(t, commandline.ExitOK, code, stderr)
			require.NoError(t, gpucheck.Comparison{Name: folder.Name(), Want: want, Got: got, Tolerance: 1e-4, Gradients: 1e-3}.Write(&bytes.Buffer{}))
		})
	}
}

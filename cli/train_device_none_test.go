//go:build !cuda

package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
)

// TestTrainWithoutCUDA: asked for in a build that has no CUDA backend, it says how to get
// one, and leaves no folder that a later call would refuse.
func TestTrainWithoutCUDA(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	code, _, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "device.kind=cuda", "-out", filepath.Join(dir, "run"))
	require.Equal(t, commandline.ExitUsage, code)
	require.Contains(t, stderr, `device cuda: this program was built without it: build with "go build -tags cuda"`)
}

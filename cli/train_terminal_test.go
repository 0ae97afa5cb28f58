//go:build !windows

package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestTrainOnATerminal: where the bar is drawn, a run starts, shows its bar and ends with a
// sample.
func TestTrainOnATerminal(t *testing.T) {
	t.Parallel()
	file, dir := writeRun(t, tinyTrainYAML)
	terminal := clitest.StartTerminal(t, clitest.Program(t, "train", "-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", filepath.Join(dir, "run")), 120, 40)
	code, screen := terminal.Wait()
	require.Equal(t, commandline.ExitOK, code, screen)
	require.Contains(t, screen, "parameters", "what is trained stands above the bar")
	require.Contains(t, screen, "6/6")
	require.Contains(t, screen, "sample:\na")
}

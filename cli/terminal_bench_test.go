//go:build !windows

package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestBenchOnATerminal: bench shows a bar with the time left while it measures, and a table that
// fits the terminal.
func TestBenchOnATerminal(t *testing.T) {
	t.Parallel()
	terminal := clitest.StartTerminal(t, clitest.Program(t, "bench", "models", "-models", "byte-rmt,byte-transformer", "-batch", "1", "-seq", "8",
		"-steps", "1", "-rounds", "8", "-threads", "1"), 70, 80)
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Regexp(t, `\[=+ +\] \d+% of the benchmark, (\d+m)?\d+s left`, terminal.Raw())
	assert.NotContains(t, screen, "of the benchmark")
	assert.Equal(t, 3, strings.Count(screen, "\nbyte-rmt "), "the models' table in two parts, and that of sizes:\n%s", screen)
}

// TestExperimentFitsATerminal: the plan's table is shown in parts on a narrow terminal, and in one
// on a wide one.
func TestExperimentFitsATerminal(t *testing.T) {
	t.Parallel()
	h := newWorkspace(t)
	rows := func(columns int) int {
		code, screen := h.start(t, columns, "experiment", "-plan", "tiny-experiment.yaml").Wait()
		require.Zero(t, code, screen)
		return strings.Count("\n"+screen, "\ntiny-seed0 ")
	}
	assert.Equal(t, 1, rows(200))
	assert.Equal(t, 4, rows(50))
}

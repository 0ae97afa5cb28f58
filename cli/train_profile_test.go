package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/trainer"
)

func TestProfileOfARun(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	out := filepath.Join(dir, "run")
	code, stdout, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", out, "-profile")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "profile.svg")
	_, table, found := strings.Cut(stderr, "profile of 5 steps:\n")
	require.True(t, found, stderr)
	require.NotContains(t, table, "on the GPU")
	sum := 0.0
	for _, m := range regexp.MustCompile(`(?m)^(.*?)  .* ([\d.-]+)%`).FindAllStringSubmatch(table, -1) {
		share, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, share, 0.0, m[0])
		if m[1] != "step" {
			sum += share
		}
	}
	assert.InDelta(t, 100, sum, 0.2, table) // each share is rounded to 0.01
	for _, want := range []string{"CausalAttention", "GradW of Linear", "CrossEntropy", "optimizer", "data", "tape machine", "rest of the step"} {
		assert.Contains(t, table, want)
	}
	picture, err := os.ReadFile(filepath.Join(out, trainer.ProfileFile))
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(table), "\n")
	longest, _, _ := strings.Cut(rows[1], "  ") // the picture has the longest parts; on a busy machine any may be among them
	assert.Contains(t, string(picture), longest)
}

// TestSimulateThreads: a run with many threads' work in turn has the losses of any other, and tells
// how long each part would take.
func TestSimulateThreads(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	log := func(arguments ...string) string {
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := runTrain(append([]string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-out", out}, arguments...)...)
		require.Equal(t, commandline.ExitOK, code, stderr)
		return stderr
	}
	simulated := log("-profile", "-simulate-threads", "16")
	losses := regexp.MustCompile(`loss [\d.]+`)
	require.NotEmpty(t, losses.FindString(simulated))
	assert.Equal(t, losses.FindAllString(log(), -1), losses.FindAllString(simulated, -1))
	assert.Contains(t, simulated, "16 threads: ms")
	rows := regexp.MustCompile(`(?m)^(\S.*?)  .* ([\d.]+)% +([\d.]+)%$`).FindAllStringSubmatch(simulated, -1)
	require.Greater(t, len(rows), 10)
	for _, m := range rows {
		for _, cell := range m[2:] {
			balance, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, balance, 6.2, m[0]) // one thread of 16 works
			assert.LessOrEqual(t, balance, 100., m[0])
		}
	}
	for _, refused := range [][]string{{}, {"-profile", "-set", "device.ranks=2", "-set", "train.accumulate=2"}} {
		code, _, stderr := runTrain(append([]string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-simulate-threads", "16"}, refused...)...)
		assert.Equal(t, commandline.ExitUsage, code)
		assert.Contains(t, stderr, "-simulate-threads: want ")
	}
}

func TestProfileOfOneStepIsEmpty(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	out := filepath.Join(dir, "run")
	code, _, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "train.steps=1", "-out", out, "-profile")
	require.Equal(t, commandline.ExitOK, code, stderr)
	assert.Contains(t, stderr, "-profile: want at least 2 steps")
	assert.NoFileExists(t, filepath.Join(out, trainer.ProfileFile))
}

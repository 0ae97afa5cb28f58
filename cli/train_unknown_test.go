package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
)

// TestFlagsThatAreKeys: a flag that train does not have, but a config has as a key, is told by it.
func TestFlagsThatAreKeys(t *testing.T) {
	for flag, want := range map[string]string{
		"-device": "-set device.kind=VALUE", "-lr": "-set train.lr=VALUE", "-steps": "-set train.steps=VALUE", "-threads": "-set device.threads=VALUE",
		"-weight-decay": "unknown flag -weight-decay", "-dvice": "unknown flag -dvice",
	} {
		code, _, stderr := runTrain("-config", "quickstart", flag, "1")
		assert.Equal(t, commandline.ExitUsage, code)
		assert.Contains(t, stderr, want)
	}
}

// TestExperimentAsAConfig: an experiment is told from a run config with a mistake.
func TestExperimentAsAConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "streams.yaml")
	require.NoError(t, os.WriteFile(file, []byte("base: quickstart\nseeds: 2\nseries: [{name: a}]\nexperiment: {kind: variants}\n"), 0o644))
	code, _, stderr := runTrain("-config", file)
	assert.Equal(t, commandline.ExitUsage, code)
	assert.Contains(t, stderr, "-config: want a run config, got "+file+", which is an experiment of several runs: start it by experiment "+file)
	require.NoError(t, os.WriteFile(file, []byte("trian: {steps: 3}\n"), 0o644))
	_, _, stderr = runTrain("-config", file)
	assert.Contains(t, stderr, "trian")
	assert.NotContains(t, stderr, "experiment")
}

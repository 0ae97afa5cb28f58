package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

func TestThePageOfConfigKeysIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../docs/config.md")
	require.NoError(t, err)
	code, made, stderr := runTrain("-keys", "-markdown")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Equal(t, made, strings.ReplaceAll(string(page), "\r\n", "\n"), "make it again: go run ./cmd/train -keys -markdown >docs/config.md")
}

func TestKeysListsEveryKeyWithItsDefaultAndMeaning(t *testing.T) {
	code, stdout, stderr := runTrain("-keys")
	require.Equal(t, commandline.ExitOK, code, stderr)
	keys, err := runconfig.Keys(models.Standard())
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")[1:]
	require.Len(t, lines, len(keys))
	for i, k := range keys {
		assert.Equal(t, k.Name, strings.Fields(lines[i])[0])
		assert.Contains(t, lines[i], k.Default)
		assert.Contains(t, lines[i], k.Help)
	}
	assert.Regexp(t, `(?m)^train\.min_lr +number +lr / 10 +learning rate at the end$`, stdout)
	assert.Regexp(t, `(?m)^train\.batch +integer +8 +rows of a micro-batch \(1 to 65536\)$`, stdout)
}

func TestConfigsListsEveryBuiltInConfig(t *testing.T) {
	code, stdout, stderr := runTrain("-configs")
	require.Equal(t, commandline.ExitOK, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, len(configs.Names()))
	for i, name := range configs.Names() {
		assert.Regexp(t, "^"+name+` +\S+ \S+`, lines[i], "a name, and what the config is")
	}
}

// TestABuiltInConfigTrainsInAnyFolder: by its name, with its paths in that folder.
func TestABuiltInConfigTrainsInAnyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("text.txt", []byte(strings.Repeat("some text to learn. ", 50)), 0o644))
	code, _, stderr := runTrain("-config", "quickstart", "-set", "data.source=files", "-set", "data.path=[text.txt]", "-set", "data.split=tail/5",
		"-set", "model.layers=1", "-set", "model.feedforward.hidden=8", "-set", "model.stream.rank=1", "-set", "model.seq=8", "-set", "train.batch=1", "-set", "train.steps=1", "-set", "sample.tokens=0")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.FileExists(t, "runs/quickstart/config.yaml")

	code, _, stderr = runTrain("-config", "runs/quickstart/config.yaml", "-set", "train.lr=1e-4", "-set", "sample.tokens=0", "-out", "runs/slower")
	require.Equal(t, commandline.ExitOK, code, stderr)
	run, _, err := runconfig.Load(models.Standard(), "runs/slower/config.yaml", nil)
	require.NoError(t, err)
	require.Equal(t, [2]float64{1e-4, 1e-5}, [2]float64{run.Train.LR, run.Train.MinLR})
}

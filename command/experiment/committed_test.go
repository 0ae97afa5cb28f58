package experiment

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// TestCommittedExperiments: each config of experiments/ can be planned, its log is whole, and its
// report is made of that log, bit for bit.
func TestCommittedExperiments(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Chdir(root)
	files, err := filepath.Glob("experiments/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	kinds := map[string]bool{}
	for _, file := range files {
		file = filepath.ToSlash(file)
		folder := strings.TrimSuffix(file, ".yaml")
		e, err := experiment.Load(experiment.Kinds(), file, nil)
		require.NoError(t, err)
		plan, err := e.Plan(t.Context(), models.Standard(), folder)
		require.NoError(t, err)
		if _, err := os.Stat(filepath.Join(folder, "log.jsonl")); err != nil { // planned, for whoever has the time
			assert.NoFileExists(t, filepath.Join(folder, "report.md"))
			continue
		}
		assert.FileExists(t, filepath.Join(folder, "base.yaml"), "an edited config changes no experiment")
		report, err := plan.Report()
		require.NoError(t, err)
		assert.Equal(t, report.Runs, report.Done, "%s: want all runs in the log", file)
		kinds[e.Kind.Name()] = true
		predicted, err := plan.Predict(t.Context(), 1)
		require.NoError(t, err, "the log is of this config")
		assert.Zero(t, predicted.Todo)
		if runtime.GOARCH != "amd64" {
			continue // other processors round power laws in another way
		}
		svg, err := figure.SVG(report.Picture)
		require.NoError(t, err)
		assert.NotContains(t, string(svg), "…", "%s: a label is cut short", file)
		call := "residua experiment -report " + file
		assert.Equal(t, report.Markdown("log.jsonl", "report.svg", call), lineFeeds(read(t, file, "report.md")), "make it again: %s", call)
		assert.Equal(t, string(svg), lineFeeds(read(t, file, "report.svg")), "make it again: %s", call)
	}
	assert.Len(t, kinds, 6, "a pilot of each kind but cards")
}

// TestEditedConfigsChangeNoExperiment: with the built-in configs edited, as files of their names
// that come first, nothing is to be trained again; without the folders' own copies all would be.
func TestEditedConfigsChangeNoExperiment(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, name := range []string{"pilot", "pilot-transformer", "quickstart", "quickstart-transformer", "mhc"} {
		text, err := os.ReadFile(filepath.Join(root, "configs", name+".yaml"))
		require.NoError(t, err)
		edited := strings.Replace(string(text), "  batch: 8\n", "  batch: 8\n  beta1: 0.8\n", 1)
		require.NotEqual(t, string(text), edited)
		require.NoError(t, os.WriteFile(name, []byte(edited), 0o644))
	}
	logs, err := filepath.Glob(filepath.Join(root, "experiments", "*", "log.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, log := range logs {
		folder := filepath.Dir(log)
		e, err := experiment.Load(experiment.Kinds(), folder+".yaml", nil)
		require.NoError(t, err)
		plan, err := e.Plan(t.Context(), models.Standard(), folder)
		require.NoError(t, err)
		assert.Len(t, plan.Notes, 1, "the base has changed")
		predicted, err := plan.Predict(t.Context(), 1)
		require.NoError(t, err)
		assert.Zero(t, predicted.Todo, folder)

		bare := t.TempDir()
		require.NoError(t, os.CopyFS(bare, os.DirFS(folder)))
		require.NoError(t, os.Remove(filepath.Join(bare, "base.yaml")))
		plan, err = e.Plan(t.Context(), models.Standard(), bare)
		require.NoError(t, err)
		_, err = plan.Predict(t.Context(), 1)
		assert.ErrorContains(t, err, "of a run with another config")
	}
}

package experiment

import (
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

// TestCommittedExperiments: each config of experiments/ can be planned, its log is whole, and its report is made of that log, bit for bit.
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
		e, err := experiment.Load(file)
		require.NoError(t, err)
		plan, err := e.Plan(t.Context(), models.Standard(), folder)
		require.NoError(t, err)
		log, err := experiment.ReadLog(folder)
		require.NoError(t, err)
		if len(log) == 0 { // planned, for whoever has the time
			assert.NoFileExists(t, filepath.Join(folder, page))
			continue
		}
		report := e.Report(log)
		assert.Equal(t, len(plan.Runs), report.Done, "%s: want all runs in the log", file)
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
		assert.Equal(t, report.Markdown(picture, call), lineFeeds(read(t, file, page)), "make it again: %s", call)
		assert.Equal(t, string(svg), lineFeeds(read(t, file, picture)), "make it again: %s", call)
	}
	assert.Len(t, kinds, 5, "a pilot of each kind")
}

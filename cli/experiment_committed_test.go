package cli

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
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// TestCommittedExperiments: each config of studies/ can be planned, its log is whole, and its
// report is made of that log, bit for bit. Without long tests it looks at one log of each kind.
func TestCommittedExperiments(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	t.Chdir(root)
	files, err := filepath.Glob("studies/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	kinds := map[string]bool{}
	for _, file := range files {
		file = filepath.ToSlash(file)
		folder := strings.TrimSuffix(file, ".yaml")
		e, err := experiment.Load(experiment.Kinds(models.Standard()), file, nil)
		require.NoError(t, err)
		if kinds[e.Kind.Name()] && !longtest.Enabled() {
			continue
		}
		zoo := models.Standard()
		if e.Page != "" {
			zoo = shownOn(t, e.Page, folder)
		}
		plan, err := e.Plan(t.Context(), zoo, folder)
		require.NoError(t, err)
		if _, err := os.Stat(filepath.Join(folder, "log.jsonl")); err != nil { // planned, for whoever has the time
			assert.NoFileExists(t, filepath.Join(folder, "report.md"))
			continue
		}
		assert.FileExists(t, filepath.Join(folder, "base.yaml"), "an edited config changes no experiment")
		report, err := plan.Report()
		require.NoError(t, err, "the log is of this config")
		kinds[e.Kind.Name()] = true
		if !unfinished(t, file) {
			assert.Equal(t, report.Runs, report.Done, "%s: want all runs in the log", file)
		}
		if report.Picture == nil { // so far its runs look for rates
			assert.NoFileExists(t, filepath.Join(folder, "report.md"))
			continue
		}
		if runtime.GOARCH != "amd64" {
			continue // other processors round power laws in another way
		}
		svg, err := figure.SVG(report.Picture)
		require.NoError(t, err)
		assert.NotContains(t, string(svg), "…", "%s: a label is cut short", file)
		call := "residua experiment -report " + file
		page, log := filepath.Join(folder, "report.md"), "log.jsonl"
		if e.Page != "" {
			page, log = e.Page, filepath.ToSlash(filepath.Join(folder, log))
		}
		picture := strings.TrimSuffix(page, ".md") + ".svg"
		assert.Equal(t, report.Markdown(log, filepath.Base(picture), call), lineFeeds(fileText(t, page)), "make it again: %s", call)
		assert.Equal(t, string(svg), lineFeeds(fileText(t, picture)), "make it again: %s", call)
	}
	assert.Len(t, kinds, 9, "a log of each kind")
}

// shownOn is the zoo without the streams that have come since a page of cards was last made, none
// of which has runs in the experiment's log.
func shownOn(t *testing.T, page, folder string) (shown models.Zoo) {
	all := models.Standard()
	text, log, streams := fileText(t, page), fileText(t, folder+"/log.jsonl"), map[string]bool{}
	for _, p := range all.Presets() {
		if strings.Contains(text, "\nPreset `"+p.Name+"`: ") || strings.Contains(log, `"`+p.Name+`"`) {
			streams[p.Config.Stream.Name()] = true
		}
	}
	assert.GreaterOrEqual(t, len(streams), 21, "%s lacks streams that it had", page)
	for _, d := range all.Streams() {
		if streams[d.Name()] {
			shown = shown.With(d)
		}
	}
	for _, d := range all.FeedForwards() {
		shown = shown.WithKinds(d)
	}
	for _, d := range all.Attentions() {
		shown = shown.WithKinds(d)
	}
	for _, p := range all.Presets() {
		if streams[p.Config.Stream.Name()] {
			shown = shown.WithPresets(p)
		}
	}
	return shown
}

// unfinished tells whether docs/log.md names an experiment as one whose log still grows, from
// commit to commit.
func unfinished(t *testing.T, file string) bool {
	_, text, _ := strings.Cut(fileText(t, "docs/log.md"), "\n## Unfinished\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.Contains(text, "`"+file+"`")
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// TestEditedConfigsChangeNoExperiment: with the built-in configs edited, as files of their names
// that come first, nothing is to be trained again; without the folders' own copies all would be.
// Unless all tests run, it looks at one experiment of each kind.
func TestEditedConfigsChangeNoExperiment(t *testing.T) {
	longtest.Skip(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, name := range []string{"pilot", "pilot-transformer", "quickstart", "quickstart-transformer", "mhc"} {
		text, err := os.ReadFile(filepath.Join(root, "configs", name+".yaml"))
		require.NoError(t, err)
		edited := strings.Replace(string(text), "  batch: 8\n", "  batch: 8\n  beta1: 0.8\n", 1)
		require.NotEqual(t, string(text), edited)
		require.NoError(t, os.WriteFile(name, []byte(edited), 0o644))
	}
	logs, err := filepath.Glob(filepath.Join(root, "studies", "*", "log.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	kinds := map[string]bool{}
	for _, log := range logs {
		folder := filepath.Dir(log)
		e, err := experiment.Load(experiment.Kinds(models.Standard()), folder+".yaml", nil)
		require.NoError(t, err)
		if kinds[e.Kind.Name()] && !longtest.Exhaustive() {
			continue
		}
		kinds[e.Kind.Name()] = true
		plan, err := e.Plan(t.Context(), models.Standard(), folder)
		require.NoError(t, err)
		assert.Len(t, plan.Notes, 1, "the base has changed")
		report, err := plan.Report()
		require.NoError(t, err)
		assert.NotZero(t, report.Done, folder)

		bare := t.TempDir()
		require.NoError(t, os.CopyFS(bare, os.DirFS(folder)))
		require.NoError(t, os.Remove(filepath.Join(bare, "base.yaml")))
		plan, err = e.Plan(t.Context(), models.Standard(), bare)
		require.NoError(t, err)
		_, err = plan.Report()
		assert.ErrorContains(t, err, "belongs to a run with another config")
	}
}

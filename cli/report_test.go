package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/browsertest"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// callReport calls report.
func callReport(args ...string) clitest.Outcome { return call(append([]string{"report"}, args...)...) }

// trainedToReport trains a tiny run into a folder, and returns it.
func trainedToReport(t *testing.T, folder string, sets ...string) string {
	t.Helper()
	sets = append(append(experimenttest.Text(t), "out="+filepath.ToSlash(folder)), sets...)
	run, _, err := runconfig.Parse(models.Standard(), "x.yaml", []byte("model: {"+experimenttest.Vector+"}\ntrain: {batch: 2, steps: 3, lr: 1e-2, eval_tokens: 64}\n"), sets)
	require.NoError(t, err)
	training, err := trainer.Open(t.Context(), run, trainer.Options{})
	require.NoError(t, err)
	defer training.Close()
	_, _ = training.Run(t.Context()) // one run below diverges
	return folder
}

// pageOf reads a page.
func pageOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestReportOfOneRun(t *testing.T) {
	folder := trainedToReport(t, filepath.Join(t.TempDir(), "a"), "train.log_norms=1", "sample={every: 2, tokens: 4, prompt: <b>}")
	got := callReport(folder)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	file := filepath.Join(folder, "report.html")
	assert.Contains(t, got.Stdout, "files:\n  "+file)
	page := pageOf(t, file)
	for _, text := range []string{"Training loss over tokens", "Validation loss over time", "Training loss over FLOPs", "Learning rate", "Gradient norm", "Throughput", "GFLOP", "seconds", "Norms by depth", "block 0", "Samples", "step 3, 48 tokens", "&lt;b&gt;"} {
		assert.Contains(t, page, text)
	}
	assert.NotContains(t, page, "Config keys that differ")
	assert.NotContains(t, page, "Mixing coefficients")
}

// TestReportOfSeveralRuns: of three, one of which diverged, with a table of what differs.
func TestReportOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for i, lr := range []string{"1e-2", "1e-3", "10"} {
		folders = append(folders, trainedToReport(t, filepath.Join(dir, fmt.Sprint("run", i)), "train.lr="+lr, "train.warmup=0", "train.clip=0", "train.weight_decay=0", "train.max_bad_steps=1"))
	}
	got := callReport(folders...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	page := pageOf(t, filepath.Join(dir, "report.html"))
	assert.Contains(t, page, "Config keys that differ")
	assert.Regexp(t, `<td>train\.lr</td><td>0\.01</td><td>0\.001</td><td>10</td>`, page)
	assert.NotContains(t, page, "<td>train.beta1</td>")
	assert.Regexp(t, `"title":"Training loss over tokens"[^{]*"log_y":true`, page, "the loss of the third is far above the others'")
}

// TestReportInBrowser: every chart is drawn, and nothing is asked of a network.
func TestReportInBrowser(t *testing.T) {
	browser := browsertest.Open(t, 1280, 1000)
	if browser == nil {
		t.Skip("short, or chromium is not in PATH")
	}
	folder := trainedToReport(t, filepath.Join(t.TempDir(), "a"), "sample={every: 1, tokens: 4}")
	require.Equal(t, commandline.ExitOK, callReport(folder).Code)
	require.NoError(t, browser.Navigate("file://"+filepath.ToSlash(filepath.Join(folder, "report.html"))))
	var undrawn, passages, open int
	require.NoError(t, browser.Script(`return [...document.querySelectorAll("figure.lines")].filter((f) => !f.querySelector("svg .series")).length`, &undrawn))
	require.NoError(t, browser.Script(`return document.querySelectorAll(".passage").length`, &passages))
	require.NoError(t, browser.Script(`return document.querySelectorAll(".passage[open]").length`, &open))
	assert.Equal(t, []int{0, 3, 1}, []int{undrawn, passages, open})
	assert.Empty(t, browser.Console())
}

func TestReportErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want the folders of runs"},
		{[]string{t.TempDir()}, "want a run's folder, as train writes it, got no config.yaml in it"},
	} {
		got := callReport(c.args...)
		assert.Equal(t, commandline.ExitUsage, got.Code)
		assert.Contains(t, got.Stderr, c.want)
	}
}

package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"image/png"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/cli/analyze"
	"github.com/residua-go/residua/internal/browsertest"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// callAnalyze calls analyze.
func callAnalyze(args ...string) clitest.Outcome {
	return call(append([]string{"analyze"}, args...)...)
}

// analyzeWorks runs analyze and wants it to succeed.
func analyzeWorks(t *testing.T, args ...string) string {
	t.Helper()
	got := callAnalyze(args...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	return got.Stdout
}

// trainedStream trains a tiny model of a stream and returns its run folder.
func trainedStream(t *testing.T, stream string) string {
	t.Helper()
	return clitest.Train(t, append(tinySizes(stream), "train.steps=4", "train.eval_every=0", "train.checkpoint_every=4")...).Dir
}

// tinySizes are settings of a tiny model.
func tinySizes(stream string) []string {
	sets := []string{"model.layers=2"}
	if stream == "matrix" {
		return sets
	}
	own := map[string]string{"hyper": ", n: 3, dynamic: true"}[stream]
	sets = append(sets, "model.stream={kind: "+stream+", d_model: 12"+own+"}", "model.attention.heads=3", "model.seq=48", "model.attention.positions=learned")
	if stream == "dwlstm" {
		sets = append(sets, "model.feedforward=null")
	}
	return sets
}

// mixingStream is a stream that mixes what was written.
const mixingStream = "hyper"

// quickFlags are flags that make a command's work small.
func quickFlags(name string) []string {
	return map[string][]string{
		"rotation": {"-steps", "1", "-seeds", "1"}, "memory": {"-seeds", "2"}, "heads": {"-rows", "1", "-period", "4", "-prompt", "line 7"}, "basis": {"-controls", "1"}, "steer": {"-toward", "a b", "-away", "b", "-tokens", "4"}, "wiring": {"-fdr", "0.5"},
	}[name]
}

// analysesOfModels are the names of all commands that look at a model alone.
func analysesOfModels() []string {
	var names []string
	for _, c := range analyze.Suite(models.Standard()).Commands {
		if c.Name != "theory" && c.Name != "features" {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestEveryAnalysisOnEveryKindOfStream: each either works or says which analyses the stream has.
func TestEveryAnalysisOnEveryKindOfStream(t *testing.T) {
	for _, stream := range []string{"matrix", "vector", "hyper", "dwlstm"} {
		run := trainedStream(t, stream)
		for _, name := range analysesOfModels() {
			t.Run(stream+"/"+name, func(t *testing.T) {
				longtest.Select(t, stream == "matrix" || stream == "dwlstm")
				args := append([]string{name, "-checkpoint", run}, quickFlags(name)...)
				if !slices.Contains(supportedAnalyses(t, run), name) {
					got := callAnalyze(args...)
					got.Refused(t, name+": want a stream ")
					got.Refused(t, ", got the "+stream+" stream, which has attribute, lens, ")
					return
				}
				checkDocument(t, name, analyzeWorks(t, append(args, "-json")...))
			})
		}
	}
}

// supportedAnalyses are the analyses that a run's model has.
func supportedAnalyses(t *testing.T, run string) []string {
	p, err := pretrained.Open(run)
	require.NoError(t, err)
	all, err := report.Analyses(p.Zoo)
	require.NoError(t, err)
	var names []string
	for _, a := range report.Supported(all, p.Spec) {
		names = append(names, a.Name())
	}
	return names
}

// TestEveryAnalysisDelivers: with -out the folder has a page, pictures and tables.
func TestEveryAnalysisDelivers(t *testing.T) {
	matrix, browser := trainedStream(t, "matrix"), openBrowser(t)
	for _, name := range analysesOfModels() {
		t.Run(name, func(t *testing.T) {
			run, about := matrix, ": matrix stream, dk=6 dv=8 rank=3, 2 layers of 3 heads"
			if !slices.Contains(supportedAnalyses(t, run), name) {
				run, about = trainedStream(t, "hyper"), ": hyper stream, "
			}
			if name != "lens" && name != "mixing" {
				longtest.Skip(t) // drawing all pictures takes seconds
			}
			dir := filepath.Join(t.TempDir(), "a", "b")
			args := append([]string{name, "-checkpoint", run}, quickFlags(name)...)
			got := callAnalyze(append(args, "-out", dir)...)
			require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
			assert.NotContains(t, got.Stdout, "NaN")
			assert.Contains(t, got.Stdout, about)
			if name == "lens" {
				assert.Equal(t, analyzeWorks(t, args...), got.Stdout, "with a page and without")
			}
			assert.Equal(t, "note: the page is "+filepath.Join(dir, report.PageFile)+"\n", got.Stderr)
			pictures := 0
			for _, part := range checkDocument(t, name, analyzeWorks(t, append(args, "-json")...)) {
				pictures += checkFiles(t, filepath.Join(dir, part))
			}
			assert.Positive(t, pictures)
			checkPage(t, dir)
			checkDrawn(t, browser, filepath.Join(dir, report.PageFile))
		})
	}
}

// openBrowser starts a browser, nil if there is none.
func openBrowser(t *testing.T) *browsertest.Browser {
	t.Helper()
	browser := browsertest.Open(t, 1280, 1000)
	if browser == nil {
		t.Log("pages are not looked at in a browser: chromium is not in PATH, or -short")
	}
	return browser
}

// checkDrawn opens a page: every figure is drawn, nothing is asked of a network, and the
// console is silent.
func checkDrawn(t *testing.T, browser *browsertest.Browser, page string) {
	t.Helper()
	if browser == nil {
		return
	}
	require.NoError(t, browser.Navigate((&url.URL{Scheme: "file", Path: page}).String()))
	var seen struct{ Figures, Drawn, Requests int }
	require.NoError(t, browser.Script(`const figures = [...document.querySelectorAll("figure")];
		return {Figures: figures.length, Drawn: figures.filter((f) => f.querySelector("svg, canvas, table")).length,
			Requests: performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length}`, &seen))
	assert.Greater(t, seen.Figures, 1)
	assert.Equal(t, seen.Figures, seen.Drawn)
	assert.Zero(t, seen.Requests)
	assert.Empty(t, browser.Console())
}

// checkDocument reads a command's JSON and returns the names of its parts.
func checkDocument(t *testing.T, name, stdout string) []string {
	t.Helper()
	assert.Equal(t, 1, strings.Count(stdout, "\n"))
	var document struct {
		Analysis, Checkpoint, Stream string
		Results                      map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &document), stdout)
	assert.Equal(t, name, document.Analysis)
	assert.NotEmpty(t, document.Checkpoint)
	assert.NotEmpty(t, document.Results)
	for part, result := range document.Results {
		assert.NotEmpty(t, result, part)
	}
	return slices.Sorted(maps.Keys(document.Results))
}

// checkFiles looks at a part's table and, unless that is all of it, its first picture; it returns
// how many it has seen.
func checkFiles(t *testing.T, stem string) int {
	t.Helper()
	table, err := os.Open(stem + ".csv")
	require.NoError(t, err)
	defer table.Close()
	rows, err := csv.NewReader(table).ReadAll()
	require.NoError(t, err)
	assert.Greater(t, len(rows), 1)
	svg, err := os.ReadFile(stem + "-1.svg")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	assert.Contains(t, string(svg), "<svg")
	picture, err := os.ReadFile(stem + "-1.png")
	require.NoError(t, err)
	_, err = png.DecodeConfig(bytes.NewReader(picture))
	assert.NoError(t, err)
	return 1
}

// checkPage looks for a page and no temporaries.
func checkPage(t *testing.T, dir string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, report.PageFile))
	require.NoError(t, err)
	assert.Contains(t, string(page), "<html")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left, "temporaries")
}

package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/experiment/mup"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
)

// run calls the command.
func run(args ...string) clitest.Outcome { return clitest.Call(Command(models.Standard()), args...) }

// text are flags that name a text to learn.
func text(t *testing.T) []string {
	var args []string
	for _, set := range experimenttest.Text(t) {
		args = append(args, "-set", set)
	}
	return args
}

// TestConfigs: configs are trained, then compared again from their folders; the picture is where -svg
// or -out says.
func TestConfigs(t *testing.T) {
	dir := t.TempDir()
	out, svg := filepath.Join(dir, "out"), filepath.Join(dir, "new", "loss.svg")
	args := append(text(t), "-config", experimenttest.Config(t, dir, "a", experimenttest.Vector), "-lr", "1e-2, 1e-3", "-budget", "tokens=32", "-seed", "5", "-out", out)
	got := run(append(args, "-x", "flops", "-svg", svg)...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `^model +parameters .*memory\n[- ]+\na +0\.01M +0\.0 +32 +0\.001 .* MB.*\na +0\.01M +0\.0 +32 +0\.01 .* MB.*\nfiles:\n  `, got.Stdout)
	assert.Contains(t, got.Stderr, "note: a: 2 steps at 0.001")
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Contains(t, string(picture), "TFLOP")

	got = run(append(args, "-json")...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var all []compare.Model
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	require.Len(t, all[0].Runs, 2)
	pictures, err := filepath.Glob(filepath.Join(out, "a-*.svg"))
	require.NoError(t, err)
	assert.Len(t, pictures, 1)

	got = run(all[0].Runs[0].Folder, "-svg", svg, all[0].Runs[1].Folder)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Empty(t, got.Stderr)
	assert.Regexp(t, `\na-tokens32-lr0.001-seed5 +0\.01M .* MB\na-tokens32-lr0.01-seed5 `, got.Stdout)
	run(append(args, "-set", "train.beta1=0.8")...).Refused(t, "holds a run of another config")
}

// TestComparisonsKeepTheirPictures: another comparison in the same folder writes another picture, even of runs of the same names.
func TestComparisonsKeepTheirPictures(t *testing.T) {
	out := t.TempDir()
	pictures := map[string]bool{}
	for range 2 {
		runs := t.TempDir()
		for _, lr := range []string{"1e-2", "1e-3"} {
			folder := filepath.Join(runs, "run"+lr)
			run, _, err := config.Parse(models.Standard(), "x.yaml", []byte("model: {"+experimenttest.Vector+"}\ntrain: {batch: 2, steps: 2, lr: "+lr+", eval_tokens: 64}\n"), append(experimenttest.Text(t), "out="+filepath.ToSlash(folder)))
			require.NoError(t, err)
			_, err = experiment.Complete(t.Context(), run, experiment.Log{})
			require.NoError(t, err)
			for _, folders := range [][]string{{folder}, {folder, folder}} {
				got := clitest.Call(Command(models.Standard()), append(folders, "-out", out)...)
				require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
				pictures[got.Stdout[strings.LastIndex(got.Stdout, "files:\n"):]] = true
			}
		}
	}
	assert.Len(t, pictures, 8)
	files, err := filepath.Glob(filepath.Join(out, "*.svg"))
	require.NoError(t, err)
	assert.Len(t, files, 8)
}

// TestSettingsOfOneConfig: a config may be compared with itself under other settings.
func TestSettingsOfOneConfig(t *testing.T) {
	dir := t.TempDir()
	file := experimenttest.Config(t, dir, "a", experimenttest.Vector)
	args := append(text(t), "-budget", "tokens=32", "-out", dir, "-json", "-config", file+","+file+" name=muon  train.optim.kind=muon")
	got := run(args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var all []compare.Model
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	require.Len(t, all, 2)
	assert.Equal(t, []string{"a", "muon"}, []string{all[0].Name, all[1].Name})
	assert.NotEqual(t, all[0].Best.Loss, all[1].Best.Loss)
}

// TestCoordinates: -coordcheck prints tables, draws and writes JSON.
func TestCoordinates(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-stream", "vector", "-widths", "2,1", "-steps", "2", "-lr", "1e-3", "-out", dir,
		"-set", "model.layers=1", "-set", "model.seq=8", "-set", "model.feedforward.hidden=16")
	got := run(append(args, "-coordcheck", "-seeds", "1")...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "vector: scales d_model")
	assert.Contains(t, got.Stdout, "\nfiles:\n  "+filepath.Join(dir, "coordcheck.svg")+"\n")
	picture, err := os.ReadFile(filepath.Join(dir, "coordcheck.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), "blocks.0.feedforward.stream")
	var checks []mup.Coordinates
	require.NoError(t, json.Unmarshal([]byte(run(append(args, "-coordcheck", "-seeds", "1", "-json")...).Stdout), &checks))
	require.Len(t, checks, 1)
	assert.Equal(t, []int{1, 2}, checks[0].Widths)
	assert.Equal(t, 1, checks[0].Seeds)
}

// TestCards: the page says how it was written, its curves lie in a folder next to it.
func TestCards(t *testing.T) {
	dir := t.TempDir()
	tiny, _, err := config.Parse(models.Standard(), "tiny", []byte("model: {"+experimenttest.Vector+"}\ntrain: {steps: 1, lr: 1}"), nil)
	require.NoError(t, err)
	zoo := models.Standard().WithPresets(models.Preset{Name: "tiny", Config: tiny.Model}, models.Preset{Name: "other", Config: tiny.Model, Baseline: "tiny"})
	page := filepath.Join(dir, "docs", "models.md")
	args := append(text(t), "-cards", page, "-baseline", "tiny", "-tokens", "48", "-only", "tiny", "-seeds", "1", "-stop-after", "1h", "-out", filepath.Join(dir, "out"))
	command := Command(zoo)
	command.Program = "ours"
	got := clitest.Call(command, args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(written), "Written by `ours compare -cards "+filepath.ToSlash(page)+" -tokens 48 -seeds 1 -baseline tiny -set data.source=files")
	curve, err := os.ReadFile(filepath.Join(dir, "docs", "curves", "tiny.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(curve), "tiny at ")
}

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	a, b := experimenttest.Config(t, dir, "a", experimenttest.Vector), experimenttest.Config(t, dir, "b", experimenttest.Matrix)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want one of run folders, -config, -coordcheck, -cards, got 0 of them"},
		{[]string{"runs/a", "-config", a}, "got 2 of them"},
		{[]string{dir, "-budget", "tokens=1"}, "-budget: want it left out with run folders, which does not use it"},
		{[]string{dir}, "want a run's folder, as train writes it, got no config.yaml in it"},
		{[]string{filepath.Join(dir, "none")}, "want a run's folder"},
		{[]string{"-coordcheck", "-cards", "x"}, "got 2 of them"},
		{[]string{"-coordcheck", "-budget", "tokens=1"}, "-budget: want it left out with -coordcheck"},
		{[]string{"-config", a, "-widths", "1,2"}, "-widths: want it left out with -config"},
		{[]string{"-coordcheck", "-widths", "1"}, "want 2 or more ascending widths, multiples of the base, got [1]"},
		{[]string{"-coordcheck", "-widths", "1,0"}, `-widths: want whole multiples of the base, as in 1,2,4, got "0"`},
		{[]string{"-coordcheck", "-widths", "2,2"}, "-widths: want each value once, got 2 twice"},
		{[]string{"-coordcheck", "-stream", "vektor"}, `-stream: want some of matrix, matrix-dv, matrix-rank, matrix-dk, vector, got "vektor"`},
		{[]string{"-coordcheck", "-lr", "1e-3,1e-2"}, "want one -lr and -seeds >= 1, got 2 rates"},
		{[]string{"-coordcheck", "-steps", "-1"}, "want steps >= 1, got -1"},
		{[]string{"-coordcheck", "-set", "model.attention.heads=3"}, "model.attention.heads"},
		{[]string{"-config", a, "-lr", "1e-3,-1"}, `-lr: want rates above 0, as in 1e-3,3e-3, got "-1"`},
		{[]string{"-config", a, "-lr", "1e-3,0.001"}, "-lr: want each value once, got 0.001 twice"},
		{[]string{"-config", a, "-budget", "steps=3"}, `-budget: want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got "steps=3"`},
		{[]string{"-config", a, "-budget", "tokens=0"}, "-budget: want tokens=N"},
		{[]string{"-config", a, "-budget", "tokens=1e30"}, "budget: want at most 1e+09 steps of a run, got tokens=1e+30"},
		{[]string{"-config", a, "-budget", "flops=1e300"}, "budget: want at most 1e+09 steps of a run, got flops=1e+300"},
		{[]string{"-config", a, "-x", "time"}, `-x: want tokens or flops, got "time"`},
		{[]string{"-config", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		{[]string{"-config", b, "-set", "model.stream.rank=0"}, "model.stream.rank"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-tokens", "0"}, "-tokens: want >= 1, got 0"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-seeds", "0"}, "-seeds: want >= 1, got 0"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-stop-after", "-1h"}, "-stop-after: want >= 0, got -1h0m0s"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-only", "quikstart"}, `want cards of quickstart-transformer, `},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-zoo", a}, "-zoo: " + a + ": want the JSON object that bench -out writes"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-baseline", "quickstart-transfomer"}, `got "quickstart-transfomer"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			run(append(c.args, "-out", filepath.Join(dir, "out"))...).Refused(t, c.want)
		})
	}
}

func TestHelp(t *testing.T) {
	got := run("-h")
	assert.Equal(t, cli.ExitOK, got.Code)
	assert.Contains(t, got.Stdout, "-coordcheck")
}

package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// trainRun trains a tiny run as the command train does, until it ends or has made some steps.
func trainRun(t *testing.T, set []string, folder, model string, until int) {
	t.Helper()
	file := experimenttest.Config(t, t.TempDir(), "run", model)
	run, _, err := runconfig.Load(models.Standard(), file, append(append([]string{"out=" + filepath.ToSlash(folder), "train.checkpoint_every=2"}, set...), "train.eval_every=2"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tr, err := trainer.Open(ctx, run, trainer.Options{Report: stopAfter{steps: until, stop: cancel}})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.Run(ctx)
	require.NoError(t, err)
}

// stopAfter ends a run after some steps.
type stopAfter struct {
	trainer.Silent
	steps int
	stop  func()
}

func (s stopAfter) Step(m trainer.Metrics) {
	if m.Step == s.steps {
		s.stop()
	}
}

// legend are the names of a chart's lines.
func legend(chart figure.Lines) []string {
	var names []string
	for _, s := range chart.Series {
		names = append(names, s.Name)
	}
	return names
}

// TestReadRuns: folders of runs, wherever they were trained, come into one table and chart, with
// what their metrics say.
func TestReadRuns(t *testing.T) {
	dir, text := t.TempDir(), experimenttest.Text(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	trainRun(t, text, a, experimenttest.Vector, 0)
	trainRun(t, text, b, experimenttest.Matrix, 3)
	all, warnings, err := ReadRuns(models.Standard(), []string{a, b + string(filepath.Separator)})
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Regexp(t, `^run +parameters +MFLOP a token +tokens +lr +loss +bits per byte +tokens/s\n[- ]+\n\S+/a +0\.01M +0\.0 +64 +0\.01 +\d\.\d+ +\d\.\d+ +\d+\n\S+/b +0\.0\dM +0\.0 +48 +0\.01 +\d\.\d+ +\d\.\d+ +\d+  at step 3 of 4, evaluated at step 2\n$`, RunsTable(all).Text())
	assert.Equal(t, []string{filepath.ToSlash(a), filepath.ToSlash(b)}, legend(LossChart(all, false)))
	assert.Equal(t, "TFLOP", LossChart(all, true).XLabel)
	steps, err := trainer.ReadMetrics(a)
	require.NoError(t, err)
	assert.Equal(t, *steps[3].ValLoss, all[0].Loss)
}

// TestReadRunsWarnsOfOtherText: losses on different text cannot be compared.
func TestReadRunsWarnsOfOtherText(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "x", "run"), filepath.Join(dir, "y", "run")
	trainRun(t, experimenttest.Text(t), a, experimenttest.Vector, 0)
	trainRun(t, experimenttest.Text(t), b, experimenttest.Vector, 0)
	_, warnings, err := ReadRuns(models.Standard(), []string{a, b})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], b+": its config has another data section than that of "+a)
}

// TestReadRunsOfOneTokenizer: runs whose tokenizer's file is gone read text by copies of it in
// their own folders, which is the same text, and no difference of their configs.
func TestReadRunsOfOneTokenizer(t *testing.T) {
	dir, text := t.TempDir(), experimenttest.Text(t)
	tokenizer := filepath.Join(dir, "tokenizer.json")
	content, err := data.TokenizerJSON("bytes")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tokenizer, content, 0o644))
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, folder := range []string{a, b} {
		trainRun(t, append(text, fmt.Sprintf("data.tokenizer=%q", tokenizer)), folder, experimenttest.Vector, 0)
	}
	require.NoError(t, os.Remove(tokenizer))
	all, warnings, err := ReadRuns(models.Standard(), []string{a, b})
	require.NoError(t, err)
	assert.Empty(t, warnings)
	differences, err := configTable(all)
	require.NoError(t, err)
	assert.Empty(t, differences.Rows)
}

func TestReadRunsRefusesOtherFolders(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Join(dir, "none")} {
		_, _, err := ReadRuns(models.Standard(), []string{folder})
		var setup *SetupError
		require.ErrorAs(t, err, &setup)
		assert.ErrorContains(t, err, "want a run's folder, as train writes it, got no config.yaml in it")
	}
}

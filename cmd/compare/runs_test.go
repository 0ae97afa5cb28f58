package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// trained trains a tiny run as the command train does, until it ends or has made some steps.
func trained(t *testing.T, sets []string, folder, model string, until int) {
	t.Helper()
	file := tiny(t, t.TempDir(), "run", model)
	run, _, err := config.Load(models.Standard(), file, append(append([]string{"out=" + filepath.ToSlash(folder), "train.checkpoint_every=2"}, setsOf(sets)...), "train.eval_every=2"))
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

// TestCompareFinishedRuns: folders of runs, wherever they were trained, come into one table and
// picture, with what their metrics say; nothing is trained.
func TestCompareFinishedRuns(t *testing.T) {
	dir, text := t.TempDir(), text(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	trained(t, text, a, tinyVector, 0)
	trained(t, text, b, tinyMatrix, 3)
	got := clitest.Call(command(models.Standard()), a, "-out", filepath.Join(dir, "out"), b+string(filepath.Separator))
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Empty(t, got.Stderr)
	assert.Regexp(t, `^model +parameters .*\na +0\.01M +0\.0 +64 +0\.01 +\d\.\d+ +\d\.\d+ +\d+ +-\nb +0\.0\dM +0\.0 +48 +0\.01 +\d\.\d+ +\d\.\d+ +\d+ +-  at step 3 of 4, evaluated at step 2\nfiles:\n`, got.Stdout)
	picture, err := os.ReadFile(filepath.Join(dir, "out", "compare.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), ">a<")
	assert.Contains(t, string(picture), ">b<")

	got = clitest.Call(command(models.Standard()), a, "-json", "-x", "flops", "-svg", filepath.Join(dir, "one.svg"))
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var standings []standing
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &standings))
	require.Len(t, standings, 1)
	steps, err := trainer.ReadMetrics(a)
	require.NoError(t, err)
	assert.Equal(t, float64(*steps[3].ValLoss), float64(standings[0].Best.Loss))
	assert.Equal(t, a, standings[0].Best.Folder)
	assert.FileExists(t, filepath.Join(dir, "one.svg"))
}

// TestCompareWarnsOfOtherText: losses on different text do not compare.
func TestCompareWarnsOfOtherText(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "x", "run"), filepath.Join(dir, "y", "run")
	trained(t, text(t), a, tinyVector, 0)
	trained(t, text(t), b, tinyVector, 0)
	got := clitest.Call(command(models.Standard()), a, b, "-out", filepath.Join(dir, "out"))
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, "warning: "+b+": its config has another data section than that of "+a)
	assert.Contains(t, got.Stdout, "\n"+a+" ", "whole paths, as the names are the same")
}

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// race compares two tiny models, as JSON.
func race(t *testing.T, args ...string) (standings []standing, stderr string) {
	t.Helper()
	got := clitest.Call(command(models.Standard()), append(args, "-json")...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &standings))
	return standings, got.Stderr
}

// TestCompareTrainsEachRateOnce: every config gets the budget at each rate, a second call
// repeats nothing and tells the same.
func TestCompareTrainsEachRateOnce(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-config", tiny(t, dir, "a", tinyVector)+","+tiny(t, dir, "b", tinyMatrix),
		"-budget", "tokens=100", "-lr", "1e-2,1e-3", "-seed", "5", "-out", filepath.Join(dir, "out"))
	first, _ := race(t, args...)
	require.Len(t, first, 2)
	for i, stream := range []string{tinyVector, tinyMatrix} {
		s := first[i]
		run, _, err := config.Parse(models.Standard(), "x.yaml", []byte("model: {"+stream+"}\ntrain: {steps: 1, lr: 1}"), nil)
		require.NoError(t, err)
		assert.Equal(t, run.Spec().Cost().Parameters, s.Parameters)
		assert.Equal(t, run.Spec().Cost().TrainFLOPs(), s.FLOPs)
		require.Len(t, s.Runs, 2)
		assert.Equal(t, 1e-3, s.Runs[0].Rate)
		assert.Equal(t, 1e-2, s.Runs[1].Rate)
		for _, r := range s.Runs {
			assert.EqualValues(t, 7*2*8, r.Tokens, "100 tokens in whole steps of 16")
			assert.Greater(t, r.Memory, 3*4*s.Parameters, "weights, gradients, moments, buffers")
			assert.GreaterOrEqual(t, r.Loss, s.Best.Loss)
			requireAsTrained(t, r)
		}
	}
	second, stderr := race(t, args...)
	assert.Equal(t, first, second)
	assert.Contains(t, stderr, "is complete")
	assert.NotContains(t, stderr, "steps at")
	assert.FileExists(t, filepath.Join(dir, "out", "compare.svg"))
}

// requireAsTrained compares an outcome with the run's own metrics and config.
func requireAsTrained(t *testing.T, r *outcome) {
	t.Helper()
	steps, err := trainer.ReadMetrics(r.Folder)
	require.NoError(t, err)
	last := steps[len(steps)-1]
	require.NotNil(t, last.ValLoss)
	require.Equal(t, float64(*last.ValLoss), float64(r.Loss))
	run, _, err := config.Load(models.Standard(), filepath.Join(r.Folder, "config.yaml"), nil)
	require.NoError(t, err)
	require.EqualValues(t, 5, run.Seed)
	require.Equal(t, r.Rate, run.Train.LR)
	require.Equal(t, r.Rate/10, run.Train.MinLR)
}

// TestCompareTable: the table names each model's best run; -x flops and -svg choose the
// picture.
func TestCompareTable(t *testing.T) {
	dir := t.TempDir()
	svg := filepath.Join(dir, "new", "race.svg")
	got := clitest.Call(command(models.Standard()), append(text(t), "-config", tiny(t, dir, "a", tinyVector), "-x", "flops", "-svg", svg, "-out", filepath.Join(dir, "out"))...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `^model +parameters +MFLOP a token +tokens +lr +loss +bits per byte +tokens/s +memory\na +0\.01M +0\.0 +64 +0\.01 +[0-9.]+ +[0-9.]+ +[0-9]+ +[0-9]+ MB\nfiles:\n  `, got.Stdout)
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Contains(t, string(picture), "TFLOP")
}

// TestRateSearchShowsEveryRate: the table has a row and the picture a line for each, the best is
// named, and one that diverged.
func TestRateSearchShowsEveryRate(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-config", tiny(t, dir, "a", tinyVector), "-lr", "1e-2,1e-3,1e30", "-budget", "tokens=320", "-set", "train.max_bad_steps=3", "-set", "train.clip=0", "-out", filepath.Join(dir, "out"))
	got := clitest.Call(command(models.Standard()), args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `\na .* 0\.001 +\d\.\d+ +\d\.\d+ +\d+ +\d+ MB\na .* 0\.01 +\d\.\d+ +\d\.\d+ +\d+ +\d+ MB  best\na .* 1e\+30 +- +- +\d+ +\d+ MB  diverged\n`, got.Stdout)
	picture, err := os.ReadFile(filepath.Join(dir, "out", "compare.svg"))
	require.NoError(t, err)
	for _, name := range []string{"a at 0.001<", "a at 0.01<", "a at 1e+30<"} {
		assert.Contains(t, string(picture), name)
	}
}

// TestFLOPsBudget: each model gets the tokens that its own FLOPs allow.
func TestFLOPsBudget(t *testing.T) {
	dir := t.TempDir()
	b, err := parseBudget("flops=2e7")
	require.NoError(t, err)
	entries, err := contest{zoo: models.Standard(), out: dir}.enter(context.Background(), entrants(tiny(t, dir, "a", tinyVector)+","+tiny(t, dir, "b", tinyMatrix)), &b, nil)
	require.NoError(t, err)
	for _, e := range entries {
		run := e.runs[0]
		flops := run.Spec().Cost().TrainFLOPs() * run.StepTokens()
		assert.GreaterOrEqual(t, run.TotalSteps()*flops, 20_000_000-run.Spec().Cost().TrainFLOPs())
		assert.Less(t, (run.TotalSteps()-1)*flops, 20_000_000)
	}
	assert.NotEqual(t, entries[0].runs[0].TotalSteps(), entries[1].runs[0].TotalSteps())
}

// TestCompareGoesOn: an interrupted comparison goes on from the checkpoint and ends with
// the bits of one that was not interrupted.
func TestCompareGoesOn(t *testing.T) {
	dir := t.TempDir()
	c := contest{zoo: models.Standard(), out: filepath.Join(dir, "cut"), sets: append(setsOf(text(t)), "train.log_every=1")}
	file := tiny(t, dir, "a", tinyVector)
	entries, err := c.enter(context.Background(), entrants(file), &budget{axisTokens, 160}, nil)
	require.NoError(t, err)
	cut := entries[0].runs[0]
	ctx, cancel := context.WithCancel(context.Background())
	_, err = finish(ctx, cut, cli.Output{Stdout: io.Discard, Stderr: stopAt{"step 5/10", cancel}})
	require.ErrorIs(t, err, context.Canceled)
	steps, err := trainer.ReadMetrics(cut.Out)
	require.NoError(t, err)
	require.Len(t, steps, 5)
	require.NoFileExists(t, filepath.Join(cut.Out, outcomeFile))
	done, err := finish(context.Background(), cut, cli.Output{Stdout: io.Discard, Stderr: io.Discard})
	require.NoError(t, err)

	c.out = filepath.Join(dir, "whole")
	entries, err = c.enter(context.Background(), entrants(file), &budget{axisTokens, 160}, nil)
	require.NoError(t, err)
	whole, err := finish(context.Background(), entries[0].runs[0], cli.Output{Stdout: io.Discard, Stderr: io.Discard})
	require.NoError(t, err)
	assert.Equal(t, whole.Loss, done.Loss)
	assert.Len(t, done.curve, 10)
}

// setsOf takes the values out of -set flags.
func setsOf(args []string) []string {
	var sets []string
	for i := 1; i < len(args); i += 2 {
		sets = append(sets, args[i])
	}
	return sets
}

// stopAt calls stop when a text is written.
type stopAt struct {
	text string
	stop func()
}

func (s stopAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		s.stop()
	}
	return len(p), nil
}

// TestCompareKeepsOtherRuns: a folder of another config is refused, not trained over.
func TestCompareKeepsOtherRuns(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-config", tiny(t, dir, "a", tinyVector), "-out", filepath.Join(dir, "out"))
	race(t, args...)
	clitest.Call(command(models.Standard()), append(args, "-set", "train.beta1=0.8")...).Refused(t, "holds a run of another config")
}

// TestCompareOutlivesDivergence: a rate that diverges is no result and no failure.
func TestCompareOutlivesDivergence(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-config", tiny(t, dir, "a", tinyVector), "-lr", "1e-2,1e30", "-budget", "tokens=320", "-set", "train.max_bad_steps=3", "-set", "train.clip=0", "-out", filepath.Join(dir, "out"))
	standings, _ := race(t, args...)
	best := standings[0].Best
	assert.Equal(t, 1e-2, best.Rate)
	assert.True(t, best.Loss.finite())
	assert.False(t, standings[0].Runs[1].Loss.finite())
	_, stderr := race(t, args...)
	assert.NotContains(t, stderr, "steps at", "a run that diverged is complete")
}

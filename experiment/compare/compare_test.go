package compare

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// of are configs of these files.
func of(files ...string) []Config {
	var configs []Config
	for _, f := range files {
		configs = append(configs, Config{File: f})
	}
	return configs
}

// trained trains configs by a plan and returns what the log was told.
func trained(t *testing.T, p Plan, files ...string) ([]Model, string) {
	t.Helper()
	p.Zoo = models.Standard()
	trainings, err := p.Trainings(context.Background(), of(files...))
	require.NoError(t, err)
	var notes []string
	all, err := Train(context.Background(), trainings, experiment.Log{Note: func(line string) { notes = append(notes, line) }})
	require.NoError(t, err)
	return all, strings.Join(notes, "\n")
}

// legend are the names of a chart's lines.
func legend(chart figure.Lines) []string {
	var names []string
	for _, s := range chart.Series {
		names = append(names, s.Name)
	}
	return names
}

// TestEachRateIsTrainedOnce: every config gets the budget at each rate; a second call repeats nothing
// and tells the same.
func TestEachRateIsTrainedOnce(t *testing.T) {
	dir := t.TempDir()
	p := Plan{Out: filepath.Join(dir, "out"), Seed: 5, Set: experimenttest.Text(t), Budget: Budget{Tokens, 100}, Rates: []float64{1e-3, 1e-2}}
	files := []string{experimenttest.Config(t, dir, "a", experimenttest.Vector), experimenttest.Config(t, dir, "b", experimenttest.Matrix)}
	first, _ := trained(t, p, files...)
	require.Len(t, first, 2)
	for i, model := range []string{experimenttest.Vector, experimenttest.Matrix} {
		m := first[i]
		run, _, err := config.Parse(models.Standard(), "x.yaml", []byte("model: {"+model+"}\ntrain: {steps: 1, lr: 1}"), nil)
		require.NoError(t, err)
		assert.Equal(t, run.Spec().Cost().Parameters, m.Parameters)
		assert.Equal(t, run.Spec().Cost().TrainFLOPs(), m.FLOPs)
		require.Len(t, m.Runs, 2)
		assert.Equal(t, 1e-3, m.Runs[0].Rate)
		assert.Equal(t, 1e-2, m.Runs[1].Rate)
		for _, r := range m.Runs {
			assert.EqualValues(t, 7*2*8, r.Tokens, "100 tokens in whole steps of 16")
			assert.Greater(t, r.Memory, 3*4*m.Parameters, "weights, gradients, moments, buffers")
			assert.GreaterOrEqual(t, r.Loss, m.Best.Loss)
			requireAsTrained(t, r)
		}
	}
	second, notes := trained(t, p, files...)
	assert.Equal(t, first, second)
	assert.Contains(t, notes, "is complete")
	assert.NotContains(t, notes, "steps at")
}

// requireAsTrained compares a result with the run's own metrics and config.
func requireAsTrained(t *testing.T, r *experiment.Result) {
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

// TestDivergenceIsAResult: a rate that diverges is neither the best nor a failure. Table and chart show
// every rate.
func TestDivergenceIsAResult(t *testing.T) {
	dir := t.TempDir()
	p := Plan{Out: filepath.Join(dir, "out"), Set: append(experimenttest.Text(t), "train.max_bad_steps=3", "train.weight_decay=50"), Budget: Budget{Tokens, 320}, Rates: []float64{1e-3, 1e-2, 10}}
	file := experimenttest.Config(t, dir, "a", experimenttest.Vector)
	all, _ := trained(t, p, file)
	assert.Equal(t, 1e-2, all[0].Best.Rate)
	assert.True(t, all[0].Best.Loss.Finite())
	assert.False(t, all[0].Runs[2].Loss.Finite())
	assert.Regexp(t, `\na .* 0\.001 +\d\.\d+ +\d\.\d+ +\d+ +\d+ MB\na .* 0\.01 +\d\.\d+ +\d\.\d+ +\d+ +\d+ MB  best\na .* 10 +- +- +\d+ +\d+ MB  diverged\n`, Table(all).Text())
	assert.Equal(t, []string{"a at 0.001", "a at 0.01", "a at 10"}, legend(LossChart(all, Tokens)))
	_, notes := trained(t, p, file)
	assert.NotContains(t, notes, "steps at", "a run that diverged is complete")
}

// TestFLOPsBudget: each model gets the tokens that its own FLOPs allow.
func TestFLOPsBudget(t *testing.T) {
	dir := t.TempDir()
	b, err := ParseBudget("flops=2e7")
	require.NoError(t, err)
	trainings, err := Plan{Zoo: models.Standard(), Out: dir, Budget: b}.Trainings(context.Background(),
		of(experimenttest.Config(t, dir, "a", experimenttest.Vector), experimenttest.Config(t, dir, "b", experimenttest.Matrix)))
	require.NoError(t, err)
	for _, training := range trainings {
		run := training.Runs[0]
		flops := run.Spec().Cost().TrainFLOPs() * run.StepTokens()
		assert.GreaterOrEqual(t, run.TotalSteps()*flops, 20_000_000-run.Spec().Cost().TrainFLOPs())
		assert.Less(t, (run.TotalSteps()-1)*flops, 20_000_000)
	}
	assert.NotEqual(t, trainings[0].Runs[0].TotalSteps(), trainings[1].Runs[0].TotalSteps())
}

// TestTrainGoesOn: an interrupted run goes on from its checkpoint and ends with the bits of one that
// was not interrupted.
func TestTrainGoesOn(t *testing.T) {
	dir := t.TempDir()
	p := Plan{Zoo: models.Standard(), Out: filepath.Join(dir, "cut"), Set: append(experimenttest.Text(t), "train.log_every=1"), Budget: Budget{Tokens, 160}}
	file := experimenttest.Config(t, dir, "a", experimenttest.Vector)
	trainings, err := p.Trainings(context.Background(), of(file))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	_, err = Train(ctx, trainings, experiment.Log{Steps: stopAt{"step 5/10", cancel}})
	require.ErrorIs(t, err, context.Canceled)
	folder := trainings[0].Runs[0].Out
	steps, err := trainer.ReadMetrics(folder)
	require.NoError(t, err)
	require.Len(t, steps, 5)
	require.NoFileExists(t, filepath.Join(folder, "outcome.json"))
	done, _ := trained(t, p, file)

	p.Out = filepath.Join(dir, "whole")
	whole, _ := trained(t, p, file)
	assert.Equal(t, whole[0].Best.Loss, done[0].Best.Loss)
	assert.Len(t, done[0].Best.Steps, 10)
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

// TestOtherRunsAreKept: a folder of another config is refused, not trained over.
func TestOtherRunsAreKept(t *testing.T) {
	dir := t.TempDir()
	p := Plan{Zoo: models.Standard(), Out: filepath.Join(dir, "out"), Set: experimenttest.Text(t)}
	file := experimenttest.Config(t, dir, "a", experimenttest.Vector)
	trained(t, p, file)
	p.Set = append(p.Set, "train.beta1=0.8")
	trainings, err := p.Trainings(context.Background(), of(file))
	require.NoError(t, err)
	_, err = Train(context.Background(), trainings, experiment.Log{})
	var setup *experiment.SetupError
	require.ErrorAs(t, err, &setup)
	assert.ErrorContains(t, err, "holds a run of another config (train.beta1")
}

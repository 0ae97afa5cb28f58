package experiment_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// parsed is an experiment on a tiny base config and text.
func parsed(t *testing.T, text string) *experiment.Config {
	t.Helper()
	base := experimenttest.Config(t, t.TempDir(), "base", experimenttest.Vector)
	c, err := experiment.Parse("x.yaml", []byte("base: "+base+"\nset: ["+strings.Join(quoted(experimenttest.Text(t)), ", ")+"]\n"+text))
	require.NoError(t, err)
	return c
}

func quoted(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fmt.Sprintf("%q", text)
	}
	return all
}

// settled is its plan.
func settled(t *testing.T, c *experiment.Config, out string) *experiment.Plan {
	t.Helper()
	p, err := c.Plan(context.Background(), models.Standard(), out)
	require.NoError(t, err)
	return p
}

// names are those of a plan's runs.
func names(p *experiment.Plan) []string {
	var all []string
	for _, r := range p.Runs {
		all = append(all, r.Name)
	}
	return all
}

const twoRates = `
seeds: 2
series: [{name: slow, set: [train.lr=1e-3]}, {name: fast}]
experiment: {kind: sweep, key: train.beta1, values: [0.8, 0.9]}
`

// TestPlan: a run for each series, point and seed, in its own folder, with the settings of all of them, and a prediction of each.
func TestPlan(t *testing.T) {
	c := parsed(t, twoRates)
	out := t.TempDir()
	p := settled(t, c, out)
	assert.Equal(t, []string{"slow-0.8-seed0", "slow-0.8-seed1", "slow-0.9-seed0", "slow-0.9-seed1", "fast-0.8-seed0", "fast-0.8-seed1", "fast-0.9-seed0", "fast-0.9-seed1"}, names(p))
	run := p.Runs[1].Run
	assert.Equal(t, []any{1e-3, 0.8, uint64(1), 1, 4, filepath.Join(out, "runs", "slow-0.8-seed1")},
		[]any{run.Train.LR, run.Train.Beta1, run.Seed, run.Device.Threads, run.Train.EvalEvery, filepath.FromSlash(run.Out)})
	assert.Equal(t, 1e-2, p.Runs[7].Run.Train.LR)

	predicted, err := p.Predict(context.Background(), 2)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 8, 2}, []int{predicted.Runs, predicted.Todo, predicted.Jobs})
	assert.InDelta(t, 8*64*float64(run.Spec().Cost().TrainFLOPs()), predicted.FLOPs, 1)
	assert.Greater(t, predicted.Wall, 0.0)
	assert.InDelta(t, predicted.Work/2, predicted.Wall, 1e-9, "eight runs of one length on two cores")
	assert.Contains(t, predicted.Text(), "8 of 8 runs are to be trained")
	assert.NoDirExists(t, filepath.Join(out, "runs"), "nothing was trained")
}

// TestTokensPerParameter: the tokens of each size follow from its parameters outside the tables.
func TestTokensPerParameter(t *testing.T) {
	c := parsed(t, `
tokens_per_parameter: 0.5
series: [{name: a}, {name: b}]
experiment: {kind: scaling, sizes: {a: [[model.layers=1], [model.layers=3]], b: [[]]}}
`)
	p := settled(t, c, t.TempDir())
	assert.Equal(t, []string{"a-size1-seed0", "a-size2-seed0", "b-size1-seed0"}, names(p))
	for i, layers := range []int{1, 3, 2} {
		cost := p.Runs[i].Run.Spec().Cost()
		assert.Equal(t, layers, p.Runs[i].Run.Model.Layers)
		assert.Equal(t, int64(0.5*float64(cost.Parameters-cost.Embedding)), p.Runs[i].Run.Train.Tokens)
		assert.Equal(t, (int(p.Runs[i].Run.Train.Tokens)+15)/16, p.Runs[i].Run.TotalSteps())
	}
}

// TestSearchDraws: every series gets the same draws, inside their intervals, other ones with another seed.
func TestSearchDraws(t *testing.T) {
	text := "series: [{name: a}, {name: b}]\nexperiment: {kind: search, draws: 8, seed: %d, ranges: {train.lr: [1e-4, 1e-1], model.mup.output_multiplier: [0.5, 2]}}"
	p, other := settled(t, parsed(t, fmt.Sprintf(text, 1)), t.TempDir()), settled(t, parsed(t, fmt.Sprintf(text, 2)), t.TempDir())
	require.Len(t, p.Runs, 16)
	below := 0
	for i := range 8 {
		a, b := p.Runs[i].Run, p.Runs[8+i].Run
		assert.Equal(t, [2]float64{a.Train.LR, a.Model.MuP.OutputMultiplier}, [2]float64{b.Train.LR, b.Model.MuP.OutputMultiplier})
		assert.True(t, a.Train.LR >= 1e-4 && a.Train.LR <= 1e-1 && a.Model.MuP.OutputMultiplier >= 0.5 && a.Model.MuP.OutputMultiplier <= 2)
		assert.NotEqual(t, a.Train.LR, other.Runs[i].Run.Train.LR)
		if a.Train.LR < 3.2e-3 { // the middle, in logarithms
			below++
		}
	}
	assert.True(t, below > 0 && below < 8)
}

// TestTrainGoesOn: an experiment that is ended goes on; runs that are in the log are not made again, whether their folders are there
// or not; two side by side have the same losses as one after the other; the report of the log that is read is the same, bit for bit.
func TestTrainGoesOn(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	whole := settled(t, c, t.TempDir())
	want, err := whole.Train(context.Background(), experiment.Options{Jobs: 2})
	require.NoError(t, err)
	require.Len(t, want, 4)

	apart := *whole.Runs[1].Run
	apart.Out = t.TempDir()
	alone, err := experiment.Complete(context.Background(), &apart, experiment.Log{})
	require.NoError(t, err)
	assert.Equal(t, alone.Loss, want[1].Loss, "on a corpus of its own")

	out := t.TempDir()
	p := settled(t, c, out)
	ctx, cancel := context.WithCancel(context.Background())
	_, err = p.Train(ctx, experiment.Options{Note: func(line string) {
		if strings.HasPrefix(line, "3/4") {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	log, err := experiment.ReadLog(out)
	require.NoError(t, err)
	require.Len(t, log, 2)
	require.NoError(t, os.RemoveAll(filepath.Join(out, "runs", log[0].Run)))

	var begun []string
	got, err := p.Train(context.Background(), experiment.Options{Note: func(line string) {
		if name, found := strings.CutSuffix(line, ": 4 steps"); found {
			begun = append(begun, name)
		}
	}})
	require.NoError(t, err)
	assert.Len(t, begun, 2, "those that are not in the log: %v", begun)
	assert.NoDirExists(t, filepath.Join(out, "runs", log[0].Run))
	require.Len(t, got, 4)
	for i := range want {
		assert.Equal(t, want[i].Run, got[i].Run)
		assert.Equal(t, want[i].Loss, got[i].Loss, want[i].Run)
	}
	read, err := experiment.ReadLog(out)
	require.NoError(t, err)
	assert.Equal(t, drawn(t, c.Report(got)), drawn(t, c.Report(read)))

	predicted, err := p.Predict(context.Background(), 1)
	require.NoError(t, err)
	assert.Zero(t, predicted.Todo)

	c.Set = append(c.Set, "train.clip=2")
	_, err = settled(t, c, out).Train(context.Background(), experiment.Options{})
	assert.ErrorContains(t, err, "is of a run with another config, [] instead of [train.clip=2]: choose")
	_, err = settled(t, c, out).Log()
	assert.ErrorContains(t, err, "is of a run with another config", "nor is it reported")
	require.NoError(t, os.WriteFile(filepath.Join(out, "log.jsonl"), []byte("{\"run\":\n"), 0o644))
	_, err = p.Train(context.Background(), experiment.Options{})
	assert.ErrorContains(t, err, "log.jsonl:1: want the line of a run")
}

// TestLog: a last line that a crash tore is left out, and its run is made again; a run that has two lines is refused.
func TestLog(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	out := t.TempDir()
	p := settled(t, c, out)
	want, err := p.Train(context.Background(), experiment.Options{})
	require.NoError(t, err)
	file := filepath.Join(out, "log.jsonl")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	last := strings.LastIndex(strings.TrimSpace(string(whole)), "\n") + 1
	for _, torn := range []int{last + 1, (last + len(whole)) / 2, len(whole) - 2} {
		require.NoError(t, os.WriteFile(file, whole[:torn], 0o644))
		log, err := p.Log()
		require.NoError(t, err)
		assert.Len(t, log, 3)
		got, err := p.Train(context.Background(), experiment.Options{})
		require.NoError(t, err)
		assert.Len(t, got, 4)
		assert.Equal(t, want[3].Loss, got[3].Loss)
		read, err := experiment.ReadLog(out)
		require.NoError(t, err)
		assert.Len(t, read, 4, "the torn line is gone")
	}
	require.NoError(t, os.WriteFile(file, append(whole, whole[:strings.Index(string(whole), "\n")+1]...), 0o644))
	_, err = p.Log()
	assert.ErrorContains(t, err, "log.jsonl:5: want one line for each run, got slow-0.8-seed0 in line 1, too: remove one of the two")
}

// TestTwoInOneFolder: the second is refused before it trains anything.
func TestTwoInOneFolder(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	out := t.TempDir()
	p := settled(t, c, out)
	tried := false
	_, err := p.Train(context.Background(), experiment.Options{Note: func(string) {
		if !tried {
			tried = true
			_, err := p.Train(context.Background(), experiment.Options{})
			var setup *experiment.SetupError
			assert.ErrorAs(t, err, &setup)
			assert.ErrorContains(t, err, out+": in use by process")
		}
	}})
	require.NoError(t, err)
	assert.True(t, tried)
	_, err = p.Train(context.Background(), experiment.Options{})
	assert.NoError(t, err, "it ends with the first")
}

// drawn is a report as text, page and picture.
func drawn(t *testing.T, r *experiment.Report) string {
	t.Helper()
	svg, err := figure.SVG(r.Picture)
	require.NoError(t, err)
	return r.Text() + r.Markdown("x.svg", "call") + string(svg)
}

// TestADivergedRunIsComplete: it is in the log, and counted.
func TestADivergedRunIsComplete(t *testing.T) {
	c := parsed(t, "seeds: 1\nseries: [{name: a}, {name: b, set: [train.lr=10, train.weight_decay=1e30, train.clip=0, train.max_bad_steps=1]}]\nexperiment: {kind: variants}")
	log, err := settled(t, c, t.TempDir()).Train(context.Background(), experiment.Options{})
	require.NoError(t, err)
	require.Len(t, log, 2)
	assert.False(t, log[1].Loss.Finite())
	assert.Contains(t, drawn(t, c.Report(log)), "1, 1 diverged")
}

// TestBadConfigs: one line that names file, line and key.
func TestBadConfigs(t *testing.T) {
	dir := t.TempDir()
	base := experimenttest.Config(t, dir, "base", experimenttest.Matrix)
	head := "base: " + base + "\n"
	const series, variants = "series: [{name: a}]\n", "experiment: {kind: variants}\n"
	for _, c := range []struct{ text, want string }{
		{"", "x.yaml: empty; want"},
		{series + variants, "x.yaml: base: want a run config"},
		{head + variants, "x.yaml: series: want one or more"},
		{head + series, "x.yaml: experiment: want a section with the key kind, got none"},
		{head + series + "experiment: {kind: scale}\n", `x.yaml:3: experiment.kind: want one of scaling, reach, sweep, variants, search, got "scale"`},
		{head + series + variants + "seeds: 0\n", "x.yaml:4: seeds: want >= 1, got 0"},
		{head + series + variants + "sets: []\n", `x.yaml:4: sets: unknown key; did you mean "set"?`},
		{head + variants + "series:\n- {name: a}\n- {name: a}\n", `x.yaml:5: series[1].name: want a name of its own for each series, got "a" twice`},
		{head + variants + "series: [{name: a/b}]\n", `x.yaml:3: series[0].name: want letters, digits`},
		{head + series + "experiment: {kind: sweep, values: [1, 2]}\n", "x.yaml: experiment.key: want a key of the run config"},
		{head + series + "experiment: {kind: sweep, key: model.layers, values: [1]}\n", "x.yaml:3: experiment.values: want two or more"},
		{head + series + "experiment: {kind: sweep, key: model.layers, values: [1, 1]}\n", `x.yaml:3: experiment.values[1]: want each once, got "1" twice`},
		{head + series + "experiment: {kind: sweep, key: model.stream.rank, values: [1, 0]}\n", "x.yaml:3: experiment.values[1]: model.stream.rank=0: want "},
		{head + series + "experiment: {kind: scaling, sizes: {b: [[]]}}\n", `x.yaml:3: experiment.sizes.b: want the name of a series, got "b"`},
		{head + series + "experiment: {kind: scaling}\n", `x.yaml: experiment.sizes: want sizes for each series, got none for "a"`},
		{head + series + "experiment: {kind: search}\n", "x.yaml: experiment.ranges: want keys of the run config"},
		{head + series + "experiment: {kind: search, ranges: {train.lr: [1, 0.1]}}\n", `x.yaml:3: experiment.ranges."train.lr": want the ends of an interval`},
		{head + series + "experiment: {kind: search, draws: 0, ranges: {train.lr: [0.1, 1]}}\n", "x.yaml:3: experiment.draws: want >= 1, got 0"},
		{head + series + "experiment: {kind: reach, evaluations: 1}\n", "x.yaml:3: experiment.evaluations: want >= 2, got 1"},
		{head + variants + "set:\n- train.lr=1e-3\n- train.setps=3\n" + series, `x.yaml:5: set[1]: train.setps=3: unknown key`},
		{head + variants + "series:\n- name: a\n  set: [model.layers=1, model.stream.dk=0]\n", "x.yaml:5: series[0].set[1]: model.stream.dk=0: "},
		{head + variants + "series: [{name: a, set: [fast]}]\n", "x.yaml:3: series[0].set[0]: fast: want key=value"},
		{"base: quikstart\n" + series + variants, `base: config: want a YAML file or a built-in config, got "quikstart"; did you mean quickstart?`},
	} {
		t.Run(c.want, func(t *testing.T) {
			e, err := experiment.Parse("x.yaml", []byte(c.text))
			if err == nil {
				_, err = e.Plan(context.Background(), models.Standard(), dir)
			}
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			var setup *experiment.SetupError
			assert.ErrorAs(t, err, &setup)
		})
	}
	_, err := experiment.Load(filepath.Join(dir, "none.yaml"))
	assert.ErrorContains(t, err, "want the YAML file of an experiment")
}

// number is a loss.
func number(v float64) trainer.Number { return trainer.Number(v) }

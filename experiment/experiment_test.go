package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/internal/build"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// parsed is an experiment on a tiny base config and text.
func parsed(t *testing.T, text string) *Config {
	t.Helper()
	base := experimenttest.Config(t, t.TempDir(), "base", experimenttest.Vector)
	c, err := parse(Kinds(models.Standard()), "x.yaml", []byte("base: "+base+"\nset: ["+strings.Join(quoted(experimenttest.Text(t)), ", ")+"]\n"+text), nil)
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
func settled(t *testing.T, c *Config, out string) *Plan {
	t.Helper()
	p, err := c.Plan(context.Background(), models.Standard(), out)
	require.NoError(t, err)
	return p
}

// runs lists what can be made of a plan first.
func runs(t *testing.T, p *Plan) []*Planned {
	t.Helper()
	p.log = nil
	todo, err := p.todo()
	require.NoError(t, err)
	return todo
}

// TestFoldersOfAnyName: a folder may have a name that YAML would read otherwise than as text.
func TestFoldersOfAnyName(t *testing.T) {
	for _, name := range []string{"study #2", "@home", "[draft]", "a: b"} {
		p := settled(t, parsed(t, twoSeries), name)
		assert.Equal(t, name+"/runs/a-seed0", runs(t, p)[0].Run.Out)
	}
}

// names lists a plan's runs.
func names(t *testing.T, p *Plan) []string {
	var all []string
	for _, r := range runs(t, p) {
		all = append(all, r.Name)
	}
	return all
}

// trained trains a plan and returns its log by the runs' names, and what was noted.
func trained(t *testing.T, p *Plan, o Options) (log map[string]Record, notes string) {
	t.Helper()
	o.Note = func(line string) { notes += line + "\n" }
	require.NoError(t, p.Train(t.Context(), o))
	return read(t, p), notes
}

// read is a plan's log.
func read(t *testing.T, p *Plan) map[string]Record {
	t.Helper()
	_, err := p.readLog()
	require.NoError(t, err)
	return p.log
}

// report is made of a plan's log.
func report(t *testing.T, p *Plan) *Report {
	t.Helper()
	r, err := p.Report()
	require.NoError(t, err)
	return r
}

const twoRates = `
seeds: 2
series: [{name: slow, set: [train.lr=1e-3]}, {name: fast}]
experiment: {kind: sweep, key: train.beta1, values: [0.8, 0.9]}
`

// TestPlan: a run for each series, point and seed, in its own folder, with the settings of all of
// them, and a prediction of each.
func TestPlan(t *testing.T) {
	c := parsed(t, twoRates)
	out := t.TempDir()
	p := settled(t, c, out)
	assert.Equal(t, []string{"slow-0.8-seed0", "slow-0.8-seed1", "slow-0.9-seed0", "slow-0.9-seed1", "fast-0.8-seed0", "fast-0.8-seed1", "fast-0.9-seed0", "fast-0.9-seed1"}, names(t, p))
	run := runs(t, p)[1].Run
	assert.Equal(t, []any{1e-3, 0.8, uint64(1), 1, 4, filepath.Join(out, "runs", "slow-0.8-seed1")},
		[]any{run.Train.LR, run.Train.Beta1, run.Seed, run.Device.Threads, run.Train.EvalEvery, filepath.FromSlash(run.Out)})
	assert.Equal(t, 1e-2, runs(t, p)[7].Run.Train.LR)

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
	assert.Equal(t, []string{"a-size1-seed0", "a-size2-seed0", "b-size1-seed0"}, names(t, p))
	for i, layers := range []int{1, 3, 2} {
		cost := runs(t, p)[i].Run.Spec().Cost()
		assert.Equal(t, layers, runs(t, p)[i].Run.Model.Layers)
		assert.Equal(t, int64(0.5*float64(cost.Parameters-cost.Embedding)), runs(t, p)[i].Run.Train.Tokens)
		assert.Equal(t, (int(runs(t, p)[i].Run.Train.Tokens)+15)/16, runs(t, p)[i].Run.TotalSteps())
	}
}

// TestSearchDraws: every series gets the same draws, inside their intervals, other ones with
// another seed.
func TestSearchDraws(t *testing.T) {
	text := "series: [{name: a}, {name: b}]\nexperiment: {kind: search, draws: 8, seed: %d, ranges: {train.lr: [1e-4, 1e-1], model.mup.output_multiplier: [0.5, 2]}}"
	p, other := settled(t, parsed(t, fmt.Sprintf(text, 1)), t.TempDir()), settled(t, parsed(t, fmt.Sprintf(text, 2)), t.TempDir())
	require.Len(t, runs(t, p), 16)
	below := 0
	for i := range 8 {
		a, b := runs(t, p)[i].Run, runs(t, p)[8+i].Run
		assert.Equal(t, [2]float64{a.Train.LR, a.Model.MuP.OutputMultiplier}, [2]float64{b.Train.LR, b.Model.MuP.OutputMultiplier})
		assert.True(t, a.Train.LR >= 1e-4 && a.Train.LR <= 1e-1 && a.Model.MuP.OutputMultiplier >= 0.5 && a.Model.MuP.OutputMultiplier <= 2)
		assert.NotEqual(t, a.Train.LR, runs(t, other)[i].Run.Train.LR)
		if a.Train.LR < 3.2e-3 { // the middle, in logarithms
			below++
		}
	}
	assert.True(t, below > 0 && below < 8)
}

// TestTrainGoesOn: an experiment that is ended goes on; runs that are in the log are not made
// again, whether their folders are there or not; two side by side have the same losses as one after
// the other; the report is the same, bit for bit.
func TestTrainGoesOn(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	whole := settled(t, c, t.TempDir())
	want, _ := trained(t, whole, Options{Jobs: 2})
	require.Len(t, want, 4)
	assert.Equal(t, []string{build.Describe(), kernel.Path()}, []string{want["slow-0.8-seed0"].Program, want["slow-0.8-seed0"].Path})

	out := t.TempDir()
	p := settled(t, c, out)
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Train(ctx, Options{Note: func(line string) {
		if strings.HasPrefix(line, "3/4") {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	log := read(t, p)
	require.Len(t, log, 2)
	gone := ""
	for gone = range log {
		require.NoError(t, os.RemoveAll(filepath.Join(out, "runs", gone)))
		break
	}

	got, notes := trained(t, p, Options{})
	assert.Equal(t, 2, strings.Count(notes, ": 4 steps"), "those that are not in the log: %s", notes)
	assert.NoDirExists(t, filepath.Join(out, "runs", gone))
	require.Len(t, got, 4)
	for name := range want {
		assert.Equal(t, want[name].Loss, got[name].Loss, name)
	}
	predicted, err := p.Predict(t.Context(), 1)
	require.NoError(t, err)
	assert.Zero(t, predicted.Todo)
	times := regexp.MustCompile(` \| \d+ \| 1 \||Seconds count .*\n\n`) // of a run
	page := func(p *Plan) string { return times.ReplaceAllString(report(t, p).Markdown("", "", ""), "") }
	assert.Equal(t, page(whole), page(p))
}

// TestOtherRunsAreKept: neither a log nor a folder of another config, nor another text, is gone on
// with.
func TestOtherRunsAreKept(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	out := t.TempDir()
	p := settled(t, c, out)
	trained(t, p, Options{})
	refused := func(p *Plan, want string) {
		t.Helper()
		err := p.Train(t.Context(), Options{})
		var setup *SetupError
		require.ErrorAs(t, err, &setup)
		assert.ErrorContains(t, err, want)
	}
	c.Set = append(c.Set, "train.clip=2")
	refused(settled(t, c, out), "belongs to a run with another config, [] instead of [train.clip=2]: choose")
	_, err := settled(t, c, out).Report()
	assert.ErrorContains(t, err, "belongs to a run with another config", "nor is it reported")

	file := filepath.Join(out, "log.jsonl")
	log, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	refused(settled(t, c, out), "holds a run of another config (train.clip: 1 -> 2")

	c.Set = c.Set[:len(c.Set)-1]
	last := strings.LastIndex(strings.TrimSpace(string(log)), "\n") + 1
	require.NoError(t, os.WriteFile(file, log[:last], 0o644))
	text := strings.TrimSuffix(strings.TrimPrefix(c.Set[1], "data.path=["), "]")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("another text\n", 1000)), 0o644))
	refused(settled(t, c, out), "was trained on, with the fingerprint")
}

// TestLog: a last line that a crash tore is left out, and its run is made again; lines before it
// stay as they are. A run that has two lines, and a torn line before others, are refused.
func TestLog(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	out := t.TempDir()
	p := settled(t, c, out)
	want, _ := trained(t, p, Options{})
	file := filepath.Join(out, "log.jsonl")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	last := strings.LastIndex(strings.TrimSpace(string(whole)), "\n") + 1
	for _, torn := range []int{last + 1, (last + len(whole)) / 2, len(whole) - 2, len(whole) - 1} {
		require.NoError(t, os.WriteFile(file, whole[:torn], 0o644))
		assert.Len(t, read(t, p), 3+torn/(len(whole)-1), "all but the line feed is whole")
		got, _ := trained(t, p, Options{})
		assert.Len(t, got, 4)
		for name := range want {
			assert.Equal(t, want[name].Loss, got[name].Loss)
		}
		now, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(whole[:last]), string(now[:last]))
		assert.Equal(t, 4, strings.Count(string(now), "\n"), "the torn line is gone")
	}
	require.NoError(t, os.WriteFile(file, append(whole, whole[:strings.Index(string(whole), "\n")+1]...), 0o644))
	_, err = p.readLog()
	assert.ErrorContains(t, err, "log.jsonl:5: want one line for each run, got "+runs(t, p)[0].Name+" in line 1, too: remove one of the two")
	require.NoError(t, os.WriteFile(file, []byte("{\"run\":\n"), 0o644))
	assert.ErrorContains(t, p.Train(t.Context(), Options{}), "log.jsonl:1: want the line of a run")
}

// TestRobustnessOfExperiments: wherever an experiment is interrupted while it writes its log or its
// base, no line is lost or torn for good, and none is made twice.
func TestRobustnessOfExperiments(t *testing.T) {
	points := 1
	if longtest.Exhaustive() { // the campaign of make robustness has others
		points = 10
	}
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	crash.Test(t, crash.Work{
		Name:   "experiment",
		Others: "runs",
		Do: func(out string, disk checkpoint.Disk) error {
			p := settled(t, c, out)
			p.disk = disk
			return p.Train(t.Context(), Options{})
		},
		Left: func(out string) map[string]string {
			left := map[string]string{}
			for name, r := range read(t, settled(t, c, out)) {
				left[name] = fmt.Sprint(r.Loss, r.Bits, r.Evaluations, r.Curve, r.Config, r.Corpus)
			}
			return left
		},
	}, points)
}

// TestTwoInOneFolder: the second is refused before it trains anything.
func TestTwoInOneFolder(t *testing.T) {
	c := parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1))
	out := t.TempDir()
	p := settled(t, c, out)
	tried := false
	require.NoError(t, p.Train(t.Context(), Options{Note: func(string) {
		if !tried {
			tried = true
			err := settled(t, c, out).Train(t.Context(), Options{})
			var setup *SetupError
			assert.ErrorAs(t, err, &setup)
			assert.ErrorContains(t, err, out+": in use by process")
		}
	}}))
	assert.True(t, tried)
	assert.NoError(t, p.Train(t.Context(), Options{}), "it ends with the first")
}

// TestOnly: one series is trained, and the report shows it.
func TestOnly(t *testing.T) {
	p := settled(t, parsed(t, twoRates), t.TempDir())
	_, notes := trained(t, p, Options{Only: []string{"fast"}})
	assert.Equal(t, 4, strings.Count(notes, ": 4 steps"))
	assert.NotContains(t, notes, "slow")
	assert.Contains(t, report(t, p).Text(), "4 of 8 runs are complete.")
	assert.ErrorContains(t, p.Train(t.Context(), Options{Only: []string{"fsat"}}), `want series of slow, fast, got "fsat"`)
	_, notes = trained(t, p, Options{StopAfter: 1})
	assert.Empty(t, notes, "there is no time for another run")
}

// drawn is a report as text, page and picture.
func drawn(t *testing.T, r *Report) string {
	t.Helper()
	svg, err := figure.SVG(r.Picture)
	require.NoError(t, err)
	return r.Text() + r.Markdown("log.jsonl", "x.svg", "call") + string(svg)
}

// TestADivergedRunIsComplete: it is in the log, and counted.
func TestADivergedRunIsComplete(t *testing.T) {
	c := parsed(t, "seeds: 1\nseries: [{name: a}, {name: b, set: [train.lr=10, train.weight_decay=1e30, train.clip=0, train.max_bad_steps=1]}]\nexperiment: {kind: variants}")
	p := settled(t, c, t.TempDir())
	log, _ := trained(t, p, Options{})
	require.Len(t, log, 2)
	assert.False(t, log["b-seed0"].Loss.Finite())
	assert.Contains(t, drawn(t, report(t, p)), "1, 1 diverged")
	_, notes := trained(t, p, Options{})
	assert.Empty(t, notes)
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
		{head + series + "experiment: {kind: scale}\n", `x.yaml:3: experiment.kind: want one of scaling, reach, sweep, capacity, variants, search, lengths, cards, coordinates, got "scale"`},
		{head + series + variants + "seeds: 0\n", "x.yaml:4: seeds: want >= 1, got 0"},
		{head + series + variants + "sets: []\n", `x.yaml:4: sets: unknown key; did you mean "set"?`},
		{head + variants + "series:\n- {name: a}\n- {name: a}\n", `x.yaml:5: series[1].name: want each once, since it names folders, and some file systems ignore case, got "a" twice`},
		{head + variants + "series:\n- {name: a}\n- {name: A}\n", `ignore case, got "A" twice`},
		{head + variants + "series: [{name: a/b}]\n", `x.yaml:3: series[0].name: want letters, digits`},
		{head + series + "experiment: {kind: sweep, values: [1, 2]}\n", "x.yaml: experiment.key: want a key of the run config"},
		{head + series + "experiment: {kind: sweep, key: model.layers, values: [1]}\n", "x.yaml:3: experiment.values: want two or more"},
		{head + series + "experiment: {kind: sweep, key: model.layers, values: [1, 1]}\n", `x.yaml:3: experiment.values[1]: want each once, since it names folders, and some file systems ignore case, got "1" twice`},
		{head + series + "experiment: {kind: sweep, key: model.stream.rank, values: [1, 0]}\n", "x.yaml:3: experiment.values[1]: model.stream.rank=0: want "},
		{head + series + "experiment: {kind: scaling, sizes: {b: [[]]}}\n", `x.yaml:3: experiment.sizes.b: want the name of a series, got "b"`},
		{head + series + "experiment: {kind: scaling}\n", `x.yaml: experiment.sizes: want sizes for each series, got none for "a"`},
		{head + series + "experiment: {kind: search}\n", "x.yaml: experiment.ranges: want keys of the run config"},
		{head + series + "experiment: {kind: search, ranges: {train.lr: [1, 0.1]}}\n", `x.yaml:3: experiment.ranges."train.lr": want the ends of an interval`},
		{head + series + "experiment: {kind: search, draws: 0, ranges: {train.lr: [0.1, 1]}}\n", "x.yaml:3: experiment.draws: want >= 1, got 0"},
		{head + series + "experiment: {kind: reach, evaluations: 1}\n", "x.yaml:3: experiment.evaluations: want >= 2, got 1"},
		{head + variants + "set:\n- train.lr=1e-3\n- train.setps=3\n" + series, `x.yaml:5: set[1]: train.setps=3: unknown key`},
		{head + variants + "series: [{name: a, set: [train.accumulate=2, device.ranks=2]}]\n", "x.yaml:3: series[0].set[1]: device.ranks=2: want 1 in an experiment"},
		{head + variants + "series: [{name: a, set: [train.log_mixing=5]}]\n", "x.yaml:3: series[0].set[0]: train.log_mixing=5: a: matrix stream: want a stream with mixing coefficients"},
		{head + variants + "series:\n- name: a\n  set: [model.layers=1, model.stream.dk=0]\n", "x.yaml:5: series[0].set[1]: model.stream.dk=0: "},
		{head + variants + "series: [{name: a, set: [fast]}]\n", "x.yaml:3: series[0].set[0]: fast: want key=value"},
		{head + series + variants + "rates: brackt\n", `x.yaml:4: rates: want one of config, bracket, got "brackt"; did you mean bracket?`},
		{head + series + "rates: bracket\nexperiment: {kind: sweep, key: train.lr, values: [1, 2]}\n", "x.yaml:4: experiment.values[0]: want no train.lr with rates: bracket"},
		{head + series + variants + "tokens: 5\nflops: 1e9\n", "x.yaml:4: tokens: want one of tokens, flops and tokens_per_parameter, got 5, 1e+09 and 0"},
		{head + series + variants + "tokens: 1000000000000000000000000000000\n", "x.yaml:4: tokens: "},
		{head + series + variants + "flops: 1e29\n", "x.yaml:4: flops: want at most those of 1e+18 tokens, got 1e+29"},
		{head + series + "experiment: {kind: cards}\n", "x.yaml:2: series: want none with the kind cards"},
		{head + "experiment: {kind: cards, baseline: quickstart-transfomer}\n", "quickstart-transfomer"},
		{head + "experiment: {kind: cards, speeds: [" + base + "]}\n", "x.yaml:2: experiment.speeds: " + base + ": want the JSON object that bench"},
		{head + "experiment: {kind: coordinates, widths: [1]}\n", "x.yaml:2: experiment.widths: want 2 or more ascending multiples of the smallest width, as in [1, 2, 4], got [1]"},
		{head + "experiment: {kind: coordinates, widths: [2, 2]}\n", `x.yaml:2: experiment.widths[1]: want each once, since it names folders, and some file systems ignore case, got "muP-x2" twice`},
		{head + "experiment: {kind: coordinates, streams: [vektor]}\n", `x.yaml:2: experiment: streams: want some of matrix, matrix-dv, matrix-rank, matrix-dk, vector, got "vektor"`},
		{head + "rates: bracket\nexperiment: {kind: coordinates}\n", "x.yaml:2: rates: want config with the kind coordinates"},
		{"base: quikstart\n" + series + variants, `base: config: want a YAML file or a built-in config, got "quikstart"; did you mean quickstart?`},
	} {
		t.Run(c.want, func(t *testing.T) {
			e, err := parse(Kinds(models.Standard()), "x.yaml", []byte(c.text), nil)
			if err == nil {
				_, err = e.Plan(context.Background(), models.Standard(), filepath.Join(dir, "out"))
			}
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			var setup *SetupError
			assert.ErrorAs(t, err, &setup)
		})
	}
	_, err := Load(Kinds(models.Standard()), filepath.Join(dir, "none.yaml"), nil)
	assert.ErrorContains(t, err, "want the YAML file of an experiment")
}

// TestWeightsOfExperimentsAreKept: with train.keep_log the runs' folders keep weights over
// training. The plan says how much disk they take, and the key changes no run's identity: runs in
// the log are not made again for it.
func TestWeightsOfExperimentsAreKept(t *testing.T) {
	c, out := parsed(t, twoSeries), t.TempDir()
	assert.NotContains(t, predictedText(t, settled(t, c, out)), "keep_log")
	c.Set = append(c.Set, "train.keep_log=true")
	p := settled(t, c, out)
	run := runs(t, p)[0].Run
	want := len(runs(t, p)) * 4 * 4 * run.Spec().Cost().Parameters // of steps 0, 1, 2 and 4
	assert.Contains(t, predictedText(t, p), "the weights that train.keep_log keeps take about "+graph.FormatBytes(want)+" on disk\n")
	log, _ := trained(t, p, Options{Jobs: 2})
	for name := range log {
		kept, err := checkpoint.LogSteps(filepath.Join(out, "runs", name))
		require.NoError(t, err)
		assert.Equal(t, []int{0, 1, 2, 4}, kept, name)
	}
	assert.NotContains(t, predictedText(t, p), "the weights", "no run is left")

	c.Set = c.Set[:len(c.Set)-1]
	_, notes := trained(t, settled(t, c, out), Options{})
	assert.Empty(t, notes, "the same runs")
	require.NoError(t, os.Remove(filepath.Join(out, "log.jsonl")))
	assert.ErrorContains(t, settled(t, c, out).Train(t.Context(), Options{}), "train.keep_log: true -> false")
}

// predictedText is what -plan prints.
func predictedText(t *testing.T, p *Plan) string {
	t.Helper()
	predicted, err := p.Predict(t.Context(), 1)
	require.NoError(t, err)
	return predicted.Text()
}

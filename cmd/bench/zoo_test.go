package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

// groupsOf are the workloads of a call.
func groupsOf(t *testing.T, args ...string) []zooGroup {
	t.Helper()
	c, flags := &call{zoo: models.Standard()}, flag.NewFlagSet("bench", flag.ContinueOnError)
	c.flags(flags)
	require.NoError(t, flags.Parse(append([]string{"-zoo"}, args...)))
	groups, err := c.zooGroups()
	require.NoError(t, err)
	return groups
}

// TestZooWorkloads: each preset that is compared with the plain transformer of a shape is a
// model of that shape; at the large one it is the preset itself.
func TestZooWorkloads(t *testing.T) {
	groups := groupsOf(t)
	require.Len(t, groups, 2)
	byteLevel, large := groups[0], groups[1]
	for _, g := range groups {
		designs := map[string]bool{}
		for _, w := range append([]workload{g.base}, g.others...) {
			designs[w.Spec.Stream.Name()] = true
		}
		for _, name := range models.Standard().StreamNames() {
			assert.True(t, designs[name], "%s is not measured at %s", name, g.shape.name)
		}
		for _, w := range append([]workload{g.base}, g.others...) {
			assert.Equal(t, g.base.tokens(), w.tokens(), w.Name)
			assert.Equal(t, []any{g.base.Spec.Vocab, g.base.Spec.Attention.Positions, g.base.ZLoss}, []any{w.Spec.Vocab, w.Spec.Attention.Positions, w.ZLoss})
		}
	}
	for _, w := range append(large.others, large.base) {
		p, err := w.Preset.Config.Resolve()
		require.NoError(t, err)
		assert.Equal(t, p.Cost(), w.Spec.Cost(), w.Name)
	}
	s := byteLevel.base.Spec
	assert.Equal(t, []int{4, 256, 8, 1024, 257, 256, 16}, []int{s.Layers, s.Width(), s.HeadCount(), s.FeedForwardShape().Hidden, s.Vocab, s.Seq, byteLevel.base.Batch})
}

// TestZooOrdersTravel: a child trains what the parent meant.
func TestZooOrdersTravel(t *testing.T) {
	for _, g := range groupsOf(t) {
		for _, w := range append([]workload{g.base}, g.others...) {
			requireTravels(t, w)
		}
	}
}

// TestZooMeasuresANewDesign: a preset that names the plain transformer of a shape is compared
// with it, whatever its design.
func TestZooMeasuresANewDesign(t *testing.T) {
	c := models.Transformer(4, 256, 512, 8)
	c.Vocab = byteVocab
	zoo := models.Standard().WithPresets(models.Preset{Name: "narrow", Config: c, Plain: "quickstart-transformer"})
	groups, err := (&call{zoo: zoo, models: "narrow", set: flag.NewFlagSet("bench", flag.ContinueOnError)}).zooGroups()
	require.NoError(t, err)
	require.Len(t, groups, 1)
	assert.Equal(t, []string{"narrow"}, names(groups[0].others))
}

// TestZooSteps: few steps at the large shape, those of -steps at all where it is given.
func TestZooSteps(t *testing.T) {
	assert.Equal(t, []int{5, 1}, []int{groupsOf(t)[0].shape.steps, groupsOf(t)[1].shape.steps})
	given := groupsOf(t, "-steps", "5")
	assert.Equal(t, []int{5, 5}, []int{given[0].shape.steps, given[1].shape.steps})
}

// TestZooChoice: -models and -shapes choose, in the order of the table, and only shapes that a
// chosen model has.
func TestZooChoice(t *testing.T) {
	assert.Equal(t, []string{"vwn-8x64"}, names(groupsOf(t, "-models", "vwn-8x64")[0].others))
	assert.Len(t, groupsOf(t, "-models", "vwn-8x64,quickstart-vwn"), 2)
	groups := groupsOf(t, "-shapes", "byte", "-models", "quickstart-mhc,quickstart", "-batch", "2", "-seq", "8")
	require.Len(t, groups, 1)
	assert.Equal(t, []string{"quickstart", "quickstart-mhc"}, names(groups[0].others))
	for _, w := range append(groups[0].others, groups[0].base) {
		assert.Equal(t, 2*8, w.tokens())
	}
}

// TestZooCountsWhatRuns: the FLOPs and the bytes that designs are compared by are those of
// the ops that a step runs.
func TestZooCountsWhatRuns(t *testing.T) {
	g := groupsOf(t, "-shapes", "byte", "-batch", "2", "-seq", "8")[0]
	for _, w := range append([]workload{g.base}, g.others...) {
		o, err := newOurs(w, target{Threads: 1})
		require.NoError(t, err, w.Name)
		_, err = o.step()
		require.NoError(t, err, w.Name)
		flops, bytes := 0, 0
		for _, row := range o.program.Profile() {
			flops, bytes = flops+row.FLOPs, bytes+row.Bytes
		}
		assert.Equal(t, w.stepFLOPs(), float64(flops), w.Name)
		assert.Equal(t, bytes, o.facts().Traffic, w.Name)
		// Each weight is read forward and backward, and its gradient written.
		assert.Greater(t, bytes, 8*(w.Spec.Cost().Parameters-w.Spec.Cost().Embedding), w.Name)
		_, err = o.step()
		require.NoError(t, err, w.Name)
		assert.Equal(t, bytes, o.facts().Traffic, "%s: of one step", w.Name)
		o.close()
	}
}

// TestZooRatiosOfFakeMeasurements: a design is compared with the turns of the plain one
// that it took part in.
func TestZooRatiosOfFakeMeasurements(t *testing.T) {
	g := groupsOf(t, "-shapes", "byte", "-models", "quickstart-highway")[0]
	plain, p := fake(100, 0, 9, 9, 2, 2), fake(150, 3e9, 3, 5, 4)
	plain.facts.Traffic, p.facts.Traffic = 1000, 1250
	r := newZooResult("byte", g.others[0], g.base, p, plain.facts, plain.seconds[2:])
	assert.Equal(t, "quickstart-highway", r.Name)
	assert.Equal(t, "byte", r.Shape)
	assert.Equal(t, 2.0, r.Time)
	assert.Equal(t, 1.25, r.Bytes)
	assert.InEpsilon(t, float64(g.others[0].Spec.Cost().TrainFLOPs())/float64(g.base.Spec.Cost().TrainFLOPs()), r.FLOPs, 1e-12)
	assert.Equal(t, 3000.0, r.PeakMB)
	assert.Equal(t, 1024.0, r.TokensPS)
	assert.Equal(t, 150, r.Parameters)
	assert.Regexp(t, `(?m)^quickstart-highway +byte +16 x 256 +0\.00M +2\.000 +\d\.\d{3} +1\.250 +1024 +3000$`, zooTable([]zooResult{r}))
}

func TestBenchZoo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.json")
	got := clitest.Call(command(models.Standard()), "-zoo", "-models", "quickstart-hyper-static,quickstart", "-shapes", "byte", "-batch", "1", "-seq", "8", "-steps", "2", "-rounds", "2", "-threads", "1", "-out", file)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `(?m)^quickstart-transformer +byte +1 x 8 +3\.28M +1\.000 +1\.000 +1\.000 +\d`, got.Stdout)
	assert.Regexp(t, `(?m)^quickstart-hyper-static +byte +1 x 8 +3\.28M +\d+\.\d{3} +1\.\d{3} +1\.\d{3} +\d`, got.Stdout)
	assert.NotContains(t, got.Stdout, "of peak", "no model table")
	assert.Contains(t, got.Stderr, "quickstart compared with quickstart-transformer at byte: round 2 of 2")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Zoo, 3)
	for i, steps := range []int{8, 4, 4} { // the plain one took turns with both
		row := r.Zoo[i]
		assert.Equal(t, steps, row.Steps, row.Name)
		for _, v := range []float64{row.Time, row.FLOPs, row.Bytes, row.TokensPS} {
			assert.Positive(t, v, row.Name)
		}
	}
	assert.Less(t, r.Zoo[1].FLOPs, 1.0, "the RMT's keys")
	assert.Greater(t, r.Zoo[2].Bytes, 1.0, "four streams")
}

// TestBenchZooAlone: without other designs the plain one is measured.
func TestBenchZooAlone(t *testing.T) {
	got := clitest.Call(command(models.Standard()), "-zoo", "-models", "quickstart-transformer", "-shapes", "byte", "-batch", "1", "-seq", "8", "-steps", "1", "-rounds", "1", "-threads", "1", "-json")
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
	require.Len(t, r.Zoo, 1)
	assert.Equal(t, 1.0, r.Zoo[0].Time)
	assert.Equal(t, 1, r.Zoo[0].Steps)
}

func TestBenchZooRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`-models: unknown residual design "mch-162m"; did you mean mhc-162m?`: {"-zoo", "-models", "mch-162m"},
		`-shapes: unknown shape "bytes"; did you mean byte?`:                  {"-zoo", "-shapes", "bytes"},
		"-shapes: want it with -zoo":                                          {"-shapes", "byte"},
		"want one of -stock, -threads-scaling, -gemm and -zoo":                {"-zoo", "-gemm"},
		"-svg: want it with the model table":                                  {"-zoo", "-svg", "x.svg"},
		"-pytorch: want it with the model table or -gemm, got it with -zoo":   {"-zoo", "-pytorch"},
		"-steps: want >= 1, got 0":                                            {"-zoo", "-steps", "0"},
	} {
		t.Run(want, func(t *testing.T) { clitest.Call(command(models.Standard()), args...).Refused(t, want) })
	}
}

// TestBenchOut: the file has what -json prints.
func TestBenchOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	got := tiny("-models", "byte-rmt", "-json", "-out", file)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, got.Stdout, string(text))
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	assert.Empty(t, r.Zoo)
}

package tour

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestPairsCostTheSame: of each size, both models' tokens cost the same to 1%, and sizes grow.
func TestPairsCostTheSame(t *testing.T) {
	c := &call{zoo: models.Standard(), Out: "tour #2"}
	last := 0.0
	for _, s := range sizes {
		pair, err := c.pair(s, 10)
		require.NoError(t, err)
		a, b := cost(pair[0]), cost(pair[1])
		assert.Less(t, math.Abs(a-b)/a, 0.01, "%v: %g and %g FLOPs a token", s, a, b)
		assert.Equal(t, []string{"matrix", "vector"}, []string{pair[0].Spec().Stream.Name(), pair[1].Spec().Stream.Name()})
		assert.Equal(t, pair[0].StepTokens(), pair[1].StepTokens())
		assert.Equal(t, "tour #2/rmt", pair[0].Out)
		assert.Greater(t, a, 1.5*last)
		last = a
	}
}

// TestTour goes the whole way on a small text, in the least time that it takes.
func TestTour(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("half a minute")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "text, with \"odd\" name.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 4000)), 0o644))
	out := filepath.Join(dir, "tour")
	got := clitest.Call(Command(models.Standard()), "-data", text, "-time", "20s", "-out", out)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "serve -checkpoint "+filepath.Join(out, "rmt", "checkpoints", "step-"))
	assert.NotContains(t, got.Stderr, "starts anew", "a first tour has nothing to go on from")
	for file, texts := range map[string][]string{
		"report.html":       {"tour/rmt", "tour/transformer", "Samples", "Norms by depth", "model.preset"},
		"stream/index.html": {"Logit lens", "The stream, taken apart", "wiring"},
	} {
		page, err := os.ReadFile(filepath.Join(out, file))
		require.NoError(t, err)
		for _, text := range texts {
			assert.Contains(t, strings.ToLower(string(page)), strings.ToLower(text), file)
		}
	}
	runs, _, err := experiment.ReadRuns(models.Standard(), []string{filepath.Join(out, "rmt"), filepath.Join(out, "transformer")})
	require.NoError(t, err)
	assert.Equal(t, runs[0].Tokens, runs[1].Tokens)
	assert.InEpsilon(t, runs[0].TotalFLOPs(), runs[1].TotalFLOPs(), 0.01)
	for _, r := range runs {
		assert.Less(t, float64(r.Loss), 3.5, "%s has learned", r.Folder)
	}
}

// writer calls a function with what is written.
type writer func(text []byte)

func (w writer) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

// TestAnInterruptedTourGoesOn: the same call ends what an interrupted one has begun, in whichever
// part that was.
func TestAnInterruptedTourGoesOn(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 400)), 0o644))
	c := &call{zoo: models.Standard(), Data: text, Time: leastTime, Out: filepath.Join(dir, "tour"), Seed: 1, Threads: 1}
	quiet := commandline.Output{Stdout: io.Discard, Stderr: io.Discard}
	p, err := c.begin(quiet)
	require.NoError(t, err)
	assert.Equal(t, plan{Data: text, Time: "20s", Seed: 1}, p)
	p.Steps = 12 // of the smallest size, as choose would
	require.NoError(t, c.keep(p))
	c.release()

	trained := func() (steps []int) {
		for _, name := range []string{"rmt", "transformer"} {
			metrics, err := trainer.ReadMetrics(filepath.Join(c.Out, name))
			if err != nil {
				return append(steps, 0)
			}
			steps = append(steps, len(metrics))
		}
		return steps
	}
	var before []int
	for range 2 { // in the first step of the first run, and of the second
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		err := c.run(ctx, commandline.Output{Stdout: io.Discard, Stderr: writer(func(text []byte) {
			if strings.Contains(string(text), "step 1/12 ") {
				seen++
				cancel()
			}
		})})
		cancel()
		require.EqualError(t, err, "interrupted: the same call goes on from here")
		require.Positive(t, seen)
		require.NotEqual(t, before, trained())
		before = trained()
	}
	require.NoError(t, c.run(t.Context(), quiet))
	assert.Equal(t, []int{12, 12}, trained())
	assert.FileExists(t, filepath.Join(c.Out, reportFile))
	assert.FileExists(t, filepath.Join(c.Out, "stream", "index.html"))
	c.Seed = 2
	require.NoError(t, os.Rename(filepath.Join(c.Out, reportFile), filepath.Join(dir, reportFile)))
	assert.ErrorContains(t, c.run(t.Context(), quiet), "-out: want the arguments with which the tour in ")
	require.NoError(t, os.Rename(filepath.Join(dir, reportFile), filepath.Join(c.Out, reportFile)))
	assert.ErrorContains(t, c.run(t.Context(), quiet), "-out: want a folder that does not exist yet, or an interrupted tour's, got ", "it is finished")
}

// TestTwoToursInOneFolder: a tour leaves alone what another one, which still runs, has in its
// folder.
func TestTwoToursInOneFolder(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 400)), 0o644))
	quiet := commandline.Output{Stdout: io.Discard, Stderr: io.Discard}
	first := &call{zoo: models.Standard(), Data: text, Time: leastTime, Out: filepath.Join(dir, "tour"), Seed: 1, Threads: 1}
	_, err := first.begin(quiet)
	require.NoError(t, err)
	defer first.release()
	require.NoError(t, os.MkdirAll(first.textFolder(), 0o777))
	unlock, err := checkpoint.Lock(first.textFolder())
	require.NoError(t, err)
	defer func() { require.NoError(t, unlock()) }()
	second := *first
	var locked *checkpoint.LockedError
	require.ErrorAs(t, second.run(t.Context(), quiet), &locked)
	assert.FileExists(t, filepath.Join(first.Out, planFile))
	assert.DirExists(t, first.textFolder())
}

// TestTextOfFewDocuments has a validation split, too.
func TestTextOfFewDocuments(t *testing.T) {
	folder := t.TempDir()
	for i := range 3 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".txt")), []byte(strings.Repeat("a few words. ", 300)), 0o644))
	}
	c := &call{zoo: models.Standard(), Data: folder, Out: filepath.Join(t.TempDir(), "tour")}
	corpus, err := c.corpus(t.Context(), commandline.Output{Stdout: io.Discard, Stderr: io.Discard})
	require.NoError(t, err)
	assert.InDelta(t, 3*13*300/20, corpus.Val.Tokens.Len(), 100)
	assert.InDelta(t, 3*13*300*19/20, corpus.Train.Tokens.Len(), 100)
	prompt := promptOf(corpus)
	assert.Regexp(t, `^(\w+\.? )+\w+\.?$`, prompt, "whole words")
	assert.Contains(t, strings.Repeat("a few words. ", 300), prompt)
	assert.InDelta(t, promptBytes, len(prompt), 8)
	c.prompt = `it "quotes": {yaml} #` + "\n\t"
	run, err := c.config("rmt", 10, sizes[0].rmt())
	require.NoError(t, err)
	assert.Equal(t, c.prompt, run.Sample.Prompt)
}

// TestOverfitting: the tour goes on with the checkpoint of the lowest validation loss.
func TestOverfitting(t *testing.T) {
	assert.True(t, overfits(1, 1.02))
	assert.False(t, overfits(1, 1.005))
	run := clitest.Train(t, "train.steps=20", "train.eval_every=10")
	of, _, err := runconfig.Load(models.Standard(), "quickstart", []string{"out=" + filepath.ToSlash(run.Dir)})
	require.NoError(t, err)
	scored, _, err := checkpoint.Best(run.Dir)
	require.NoError(t, err)
	assert.Equal(t, scored, best(of))
	of.Out = t.TempDir()
	assert.Equal(t, of.Out, best(of), "nothing was scored")
}

func TestTourRefusals(t *testing.T) {
	short, out := filepath.Join(t.TempDir(), "short.txt"), filepath.Join(t.TempDir(), "tour")
	require.NoError(t, os.WriteFile(short, []byte("a few words"), 0o644))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-time", "5s"}, "-time: want at least 20s, got 5s"},
		{[]string{"-out", t.TempDir()}, "-out: want a folder that does not exist yet, or an interrupted tour's, got "},
		{[]string{"-data", "nowhere.txt", "-out", out}, "-data: "},
		{[]string{"-data", short, "-out", out}, "-data: "},
	} {
		got := clitest.Call(Command(models.Standard()), c.args...)
		assert.Equal(t, commandline.ExitUsage, got.Code, got.Stderr)
		assert.Contains(t, got.Stderr, c.want)
	}
	assert.NoDirExists(t, out)
}

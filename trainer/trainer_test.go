package trainer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// tinyYAML is a model and a run of seconds.
const tinyYAML = `
seed: 7
model: {stream: {kind: matrix, dk: 6, dv: 8, rank: 3}, layers: 2, attention: {positions: alibi, inverse_layer_scaling: true}, feedforward: {kind: gelu, hidden: 24}, seq: 16, init: lecun, dropout: 0.1}
data: {source: files, split: tail/5}
train: {batch: 4, steps: 24, lr: 1e-2, eval_every: 6, checkpoint_every: 5, keep: 2, eval_tokens: 256}
sample: {tokens: 0}
device: {threads: 2}
`

// corpus writes a small text and returns its path.
func corpus(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "text.txt")
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "line %d says %d times nothing\n", i, i*i%97)
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// tiny returns the tiny run into a folder of its own.
func tiny(t *testing.T, text, out string, sets ...string) *config.Run {
	t.Helper()
	sets = append([]string{"data.path=[" + text + "]", "out=" + out}, sets...)
	run, _, err := config.Parse(models.Standard(), "tiny.yaml", []byte(tinyYAML), sets)
	require.NoError(t, err)
	return run
}

// train runs to the end.
func train(t *testing.T, run *config.Run, o trainer.Options) *trainer.Result {
	r, err := tryTrain(context.Background(), run, o)
	require.NoError(t, err)
	return r
}

func tryTrain(ctx context.Context, run *config.Run, o trainer.Options) (*trainer.Result, error) {
	if o.Resume == "" {
		o.Resume = trainer.ResumeNone
	}
	tr, err := trainer.Open(ctx, run, o)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	return tr.Run(ctx)
}

// losses reads metrics.jsonl: the numbers that must not depend on time.
func losses(t *testing.T, out string) []string {
	text, err := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
	require.NoError(t, err)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		lines = append(lines, numbers(m))
	}
	return lines
}

// last returns the tensors of the newest checkpoint and its state without checksums.
func last(t *testing.T, out string) *checkpoint.Checkpoint {
	dir, _, err := checkpoint.Latest(out)
	require.NoError(t, err)
	c, err := checkpoint.Load(dir)
	require.NoError(t, err)
	return c
}

func TestTrainWritesAWholeRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	r := train(t, tiny(t, corpus(t), out), trainer.Options{Report: trainer.NewLines(&log, 5)})
	require.Equal(t, 24, r.Steps)
	require.False(t, r.Interrupted)
	require.NotNil(t, r.Final)
	require.Len(t, losses(t, out), 24)
	for _, name := range []string{"config.yaml", "metrics.jsonl", "loss.svg", "latest.json", "best.json"} {
		require.FileExists(t, filepath.Join(out, name))
	}
	require.DirExists(t, r.Checkpoint)
	svg, err := os.ReadFile(filepath.Join(out, "loss.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), "</svg>")
	require.Contains(t, log.String(), "step 5/24")
	require.Contains(t, log.String(), "validation loss")
	again, _, err := config.Load(models.Standard(), filepath.Join(out, "config.yaml"), nil)
	require.NoError(t, err)
	require.Equal(t, tiny(t, again.Data.Path[0], out).Model, again.Model, "the resolved config describes the same run")
}

func TestTrainingLearns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	tr, err := trainer.Open(context.Background(), tiny(t, corpus(t), out, "train.steps=120", "train.eval_every=60"), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	r, err := tr.Run(context.Background())
	require.NoError(t, err)
	require.Less(t, r.Final.Loss, 3.2, "from ln 257 = 5.55 nats")
	require.InDelta(t, math.Exp(r.Final.Loss), r.Final.Perplexity, 1e-9)
}

// TestResume stops a run at each of several steps and goes on: everything that follows
// is the same to the bit, the last checkpoint too.
func TestResume(t *testing.T) {
	text := corpus(t)
	whole := filepath.Join(t.TempDir(), "whole")
	train(t, tiny(t, text, whole), trainer.Options{})
	for _, stop := range []int{1, 5, 13, 23} {
		out := filepath.Join(t.TempDir(), "broken")
		ctx, cancel := context.WithCancel(context.Background())
		r, err := tryTrain(ctx, tiny(t, text, out), trainer.Options{Report: &stopper{at: stop, stop: cancel}})
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		require.Equal(t, stop, r.Steps)
		r = train(t, tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
		require.Equal(t, 24, r.Steps)
		require.Equal(t, losses(t, whole), losses(t, out), "stopped at %d", stop)
		requireSameCheckpoint(t, last(t, whole), last(t, out))
	}
}

// requireSameCheckpoint compares everything but what a run has for itself and what its time
// takes.
func requireSameCheckpoint(t *testing.T, want, got *checkpoint.Checkpoint) {
	require.Equal(t, timeless(t, want.State), timeless(t, got.State))
	require.Equal(t, want.Model, got.Model)
	require.Equal(t, want.Optimizer, got.Optimizer)
}

// timeless is a state without identity, times and when it was interrupted.
func timeless(t *testing.T, s checkpoint.State) checkpoint.State {
	require.Len(t, s.Run, 32)
	s.Run, s.GoodStep, s.Extra = "", nil, maps.Clone(s.Extra)
	var m map[string]any
	require.NoError(t, json.Unmarshal(s.Extra["metrics"], &m))
	require.EqualValues(t, s.Step, m["step"])
	s.Extra["metrics"] = json.RawMessage(numbers(m))
	return s
}

// numbers are those of a metrics line that must not depend on time.
func numbers(m map[string]any) string {
	return fmt.Sprint(m["step"], m["tokens"], m["loss"], m["lr"], m["grad_norm"], m["skipped"], m["val_loss"], m["val_bits_per_byte"])
}

// stopper cancels a run after a step.
type stopper struct {
	trainer.Silent
	at   int
	stop func()
}

func (s *stopper) Step(m trainer.Metrics) {
	if m.Step == s.at {
		s.stop()
	}
}

// TestResumeCutsMetrics: lines after the checkpoint's step and a torn last line go.
func TestResumeCutsMetrics(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := tryTrain(ctx, tiny(t, text, out), trainer.Options{Report: &stopper{at: 5, stop: cancel}})
	require.NoError(t, err)
	path := filepath.Join(out, "metrics.jsonl")
	lines, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(lines, []byte(`{"step":6,"tokens":384,"loss":1}`+"\n"+`{"step":7,"tok`)...), 0o644))
	ctx, cancel = context.WithCancel(context.Background())
	_, err = tryTrain(ctx, tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: &stopper{at: 7, stop: cancel}})
	require.NoError(t, err)
	require.Len(t, losses(t, out), 7)
}

func TestBestIsKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	train(t, tiny(t, corpus(t), out, "train.keep=1", "train.lr=0.05", "train.steps=40"), trainer.Options{})
	dir, loss, err := checkpoint.Best(out)
	require.NoError(t, err)
	c, err := checkpoint.Load(dir)
	require.NoError(t, err)
	require.NotNil(t, c.State.BestLoss)
	require.InDelta(t, loss, *c.State.BestLoss, 0, "best.json names the loss of its step")
}

// TestAccumulate: a step of two micro-batches is the mean of their gradients (that N
// micro-batches are one batch to 1e-6 is tested in packages graph and optim).
func TestAccumulate(t *testing.T) {
	text := corpus(t)
	first := func(sets ...string) trainer.Metrics {
		var all []trainer.Metrics
		run := tiny(t, text, filepath.Join(t.TempDir(), "run"), append(sets, "model.dropout=0", "train.steps=2", "train.warmup=0", "train.lr=1e-30")...)
		train(t, run, trainer.Options{Report: &collector{into: &all}})
		require.Len(t, all, 2)
		return all[0]
	}
	one := first("train.accumulate=2")
	require.EqualValues(t, 2*4*16, one.Tokens)
	// At a rate of nothing, the two micro-batches of the first step are the batches of
	// the first two steps without accumulation.
	var all []trainer.Metrics
	run := tiny(t, text, filepath.Join(t.TempDir(), "run"), "model.dropout=0", "train.steps=2", "train.warmup=0", "train.lr=1e-30", "train.weight_decay=0")
	train(t, run, trainer.Options{Report: &collector{into: &all}})
	require.InEpsilon(t, float64(all[0].Loss+all[1].Loss)/2, float64(one.Loss), 1e-6)
	require.LessOrEqual(t, float64(one.GradNorm), float64(all[0].GradNorm+all[1].GradNorm)/2*(1+1e-6), "a mean's norm")
}

type collector struct {
	trainer.Silent
	into *[]trainer.Metrics
}

func (c *collector) Step(m trainer.Metrics) { *c.into = append(*c.into, m) }

func TestInitFrom(t *testing.T) {
	text, first := corpus(t), filepath.Join(t.TempDir(), "first")
	train(t, tiny(t, text, first), trainer.Options{})
	tr, err := trainer.Open(context.Background(), tiny(t, text, filepath.Join(t.TempDir(), "second"), "train.init_from="+first), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	for _, want := range last(t, first).Model {
		require.Equal(t, want.Data, tr.Store().Param(want.Name).Value.Float32s(), want.Name)
		require.Zero(t, tr.Store().Param(want.Name).Moment1.Float32s()[0], "a fresh optimizer")
	}
}

// TestThreadsAndRecompute: recomputation changes no bit, and the same thread count gives
// the same bits.
func TestThreadsAndRecompute(t *testing.T) {
	text := corpus(t)
	runs := [][]string{nil, {"train.recompute=block"}, nil}
	var want []string
	for _, sets := range runs {
		out := filepath.Join(t.TempDir(), "run")
		train(t, tiny(t, text, out, sets...), trainer.Options{})
		if want == nil {
			want = losses(t, out)
		}
		require.Equal(t, want, losses(t, out), "%v", sets)
	}
}

// TestFallBackNamesTheStep: where the newest checkpoint is damaged, every way to start from the run
// says which step is used.
func TestFallBackNamesTheStep(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	first := train(t, tiny(t, text, out), trainer.Options{})
	model := filepath.Join(first.Checkpoint, "model.safetensors")
	damaged, err := os.ReadFile(model)
	require.NoError(t, err)
	damaged[len(damaged)-1] ^= 1
	require.NoError(t, os.WriteFile(model, damaged, 0o644))
	for name, o := range map[string]trainer.Options{"auto": {Resume: trainer.ResumeAuto}, "folder": {Resume: trainer.Resume(out)}, "init": {}} {
		var log bytes.Buffer
		o.Report = trainer.NewLines(&log, 0)
		run := tiny(t, text, out)
		if name == "init" {
			run = tiny(t, text, filepath.Join(t.TempDir(), "second"), "train.init_from="+out)
		}
		tr, err := trainer.Open(context.Background(), run, o)
		require.NoError(t, err, name)
		tr.Close()
		require.Regexp(t, `warning: .*step-00000024.*damaged.*\nwarning: .*: using the checkpoint of step (18|20)\n`, log.String(), name)
	}
}

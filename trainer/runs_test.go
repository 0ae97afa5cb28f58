package trainer_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// smallYAML is the smallest useful run: one layer, windows of 16.
const smallYAML = `
seed: 7
model: {stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, seq: 16}
data: {source: files, split: tail/5}
train: {batch: 2, steps: 12, lr: 1e-2, eval_every: 4, checkpoint_every: 3, keep: 2, eval_tokens: 64}
sample: {tokens: 0}
device: {threads: 1}
`

// smallest returns the smallest run for a folder.
func smallest(t *testing.T, text, out string, sets ...string) *runconfig.Run {
	t.Helper()
	run, _, err := runconfig.Parse(models.Standard(), "small.yaml", []byte(smallYAML), append([]string{"data.path=[" + text + "]", "out=" + out}, sets...))
	require.NoError(t, err)
	return run
}

// interrupt trains until a step.
func interrupt(t *testing.T, run *runconfig.Run, at int, o trainer.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.Report = &stopper{at: at, stop: cancel}
	r, err := tryTrain(ctx, run, o)
	require.NoError(t, err)
	require.Equal(t, at, r.Steps)
}

// listener records messages, and checks every note.
type listener struct {
	trainer.Silent
	notes, warnings []string
	onNote          func(line string)
}

func (l *listener) Note(line string) {
	l.notes = append(l.notes, line)
	if l.onNote != nil {
		l.onNote(line)
	}
}

func (l *listener) Warn(line string) { l.warnings = append(l.warnings, line) }

// steps lists a run's step folders.
func steps(t *testing.T, out string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(out, "checkpoints"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// tree returns the digests of all files below a folder, except the content of locks.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(info.Name(), ".lock") {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	}))
	return files
}

// tinyYAML describes a model and a run that take seconds.
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

// tiny returns the tiny run for a folder of its own.
func tiny(t *testing.T, text, out string, sets ...string) *runconfig.Run {
	t.Helper()
	sets = append([]string{"data.path=[" + text + "]", "out=" + out}, sets...)
	run, _, err := runconfig.Parse(models.Standard(), "tiny.yaml", []byte(tinyYAML), sets)
	require.NoError(t, err)
	return run
}

// train runs to the end.
func train(t *testing.T, run *runconfig.Run, o trainer.Options) *trainer.Result {
	r, err := tryTrain(context.Background(), run, o)
	require.NoError(t, err)
	return r
}

func tryTrain(ctx context.Context, run *runconfig.Run, o trainer.Options) (*trainer.Result, error) {
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

// requireSameCheckpoint compares everything except the run's identity and times.
func requireSameCheckpoint(t *testing.T, want, got *checkpoint.Checkpoint) {
	require.Equal(t, timeless(t, want.State), timeless(t, got.State))
	require.Equal(t, want.Model, got.Model)
	require.Equal(t, want.Optimizer, got.Optimizer)
}

// timeless returns a state without identity, times and the step of an interrupt.
func timeless(t *testing.T, s checkpoint.State) checkpoint.State {
	require.Len(t, s.Run, len(rand.Text()))
	s.Run, s.GoodStep, s.Extra = "", nil, maps.Clone(s.Extra)
	var m map[string]any
	require.NoError(t, json.Unmarshal(s.Extra["metrics"], &m))
	require.EqualValues(t, s.Step, m["step"])
	s.Extra["metrics"] = json.RawMessage(numbers(m))
	return s
}

// numbers returns the parts of a metrics line that must not depend on time.
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

type collector struct {
	trainer.Silent
	into *[]trainer.Metrics
}

func (c *collector) Step(m trainer.Metrics) { *c.into = append(*c.into, m) }

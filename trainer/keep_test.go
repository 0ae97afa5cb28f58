package trainer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// smallYAML is the smallest run worth the name: one layer, windows of 16.
const smallYAML = `
seed: 7
model: {stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, seq: 16}
data: {source: files, split: tail/5}
train: {batch: 2, steps: 12, lr: 1e-2, eval_every: 4, checkpoint_every: 3, keep: 2, eval_tokens: 64}
sample: {tokens: 0}
device: {threads: 1}
`

// smallest returns the smallest run into a folder.
func smallest(t *testing.T, text, out string, sets ...string) *config.Run {
	t.Helper()
	run, _, err := config.Parse(models.Standard(), "small.yaml", []byte(smallYAML), append([]string{"data.path=[" + text + "]", "out=" + out}, sets...))
	require.NoError(t, err)
	return run
}

// interrupt trains until a step.
func interrupt(t *testing.T, run *config.Run, at int, o trainer.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.Report = &stopper{at: at, stop: cancel}
	r, err := tryTrain(ctx, run, o)
	require.NoError(t, err)
	require.Equal(t, at, r.Steps)
}

// listener keeps what is said, and looks at every note.
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

func TestAStepIsSavedBeforeItIsValidated(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	validated := 0
	report := &listener{onNote: func(line string) {
		var step int
		if _, err := fmt.Sscanf(line, "step %d  validation loss", &step); err == nil {
			validated++
			require.DirExists(t, filepath.Join(out, "checkpoints", fmt.Sprintf("step-%08d", step)))
			require.FileExists(t, filepath.Join(out, "latest.json"))
		}
	}}
	train(t, smallest(t, corpus(t), out), trainer.Options{Report: report})
	require.Equal(t, 3, validated)
}

func TestValidationThatCannotWorkIsRefusedBeforeTheFirstStep(t *testing.T) {
	text := corpus(t)
	for _, tokens := range []int{1, 10, 15} {
		_, _, err := config.Parse(models.Standard(), "small.yaml", []byte(smallYAML), []string{"data.path=[" + text + "]", fmt.Sprintf("train.eval_tokens=%d", tokens)})
		require.ErrorContains(t, err, fmt.Sprintf("-set: train.eval_tokens: want 0 (all) or at least one window of model.seq, 16 tokens, got %d", tokens))
	}
	for _, tokens := range []int{16, 0, math.MaxInt64} {
		out := filepath.Join(t.TempDir(), "run")
		run := smallest(t, text, out, "train.steps=2")
		run.Train.EvalTokens = tokens
		r := train(t, run, trainer.Options{})
		require.NotNil(t, r.Final)
		require.Zero(t, r.Final.Tokens%16)
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	w, err := data.NewShardWriter(nothing, tokenizer, 0)
	require.NoError(t, err)
	document := []uint16{uint16(tokenizer.BOS())}
	for i := range 2000 {
		require.NoError(t, w.Append(append(document, 'a', uint16('a'+i%20))))
	}
	for range 1000 { // the end of the stream is documents without text
		require.NoError(t, w.Append(document))
	}
	_, err = w.Close()
	require.NoError(t, err)
	run := smallest(t, nothing, filepath.Join(t.TempDir(), "run"), "data.source=shards", "data.split=tail/20")
	_, err = tryTrain(context.Background(), run, trainer.Options{})
	require.ErrorContains(t, err, "validation split: want text, got 64 tokens that only separate documents")
	run.Train.EvalEvery = 0
	require.Nil(t, train(t, run, trainer.Options{}).Final, "a run that need not validate does not")
}

func TestCheckpointsComeAtRegularTimes(t *testing.T) {
	require.Equal(t, 10.0, config.Defaults().Train.CheckpointMinutes)
	out, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	text := corpus(t)
	train(t, smallest(t, text, out, "train.eval_every=0", "train.checkpoint_every=0", "train.keep=9", "train.steps=5", "train.checkpoint_minutes=1e-9"), trainer.Options{})
	require.Len(t, steps(t, out), 5, "each step takes longer than that")
	train(t, smallest(t, text, other, "train.eval_every=0", "train.checkpoint_every=0", "train.keep=9", "train.steps=5", "train.checkpoint_minutes=0"), trainer.Options{})
	require.Len(t, steps(t, other), 1)
	require.Equal(t, losses(t, other), losses(t, out), "when it is saved changes nothing")
	require.Equal(t, last(t, other).Model, last(t, out).Model)
	require.Equal(t, last(t, other).Optimizer, last(t, out).Optimizer)
}

// bestOf is the step with the smallest validation loss in the metrics.
func bestOf(t *testing.T, out string) (step int, loss float64) {
	t.Helper()
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	loss = math.Inf(1)
	for _, m := range lines {
		if m.ValLoss != nil && float64(*m.ValLoss) < loss {
			step, loss = m.Step, float64(*m.ValLoss)
		}
	}
	return step, loss
}

// A run that was killed after it saved its best step and before it marked it is resumed.
func TestTheBestIsMarkedAfterACrashHasCostTheMark(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, old []byte){
		"an older mark": func(t *testing.T, path string, old []byte) { require.NoError(t, os.WriteFile(path, old, 0o644)) },
		"damaged":       func(t *testing.T, path string, old []byte) { require.NoError(t, os.WriteFile(path, old[:9], 0o644)) },
		"gone":          func(t *testing.T, path string, _ []byte) { require.NoError(t, os.Remove(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			text, out := corpus(t), filepath.Join(t.TempDir(), "run")
			sets := []string{"train.keep=1", "train.steps=40", "train.checkpoint_every=1", "train.lr=0.01"}
			interrupt(t, smallest(t, text, out, sets...), 5, trainer.Options{})
			mark := filepath.Join(out, "best.json")
			old, err := os.ReadFile(mark)
			require.NoError(t, err)
			interrupt(t, smallest(t, text, out, sets...), 9, trainer.Options{Resume: trainer.ResumeAuto})
			step, loss := bestOf(t, out)
			require.Equal(t, 8, step)
			spoil(t, mark, old)
			interrupt(t, smallest(t, text, out, sets...), 11, trainer.Options{Resume: trainer.ResumeAuto})
			dir, marked, err := checkpoint.Best(out)
			require.NoError(t, err)
			require.Equal(t, "step-00000008", filepath.Base(dir))
			require.Equal(t, loss, marked)
		})
	}
}

// A rate that ruins the weights after 20 good steps.
func TestDivergenceKeepsTheLastGoodCheckpoint(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	sets := []string{"train.eval_every=0", "train.checkpoint_every=2", "train.warmup=0", "train.clip=0", "train.weight_decay=0"}
	train(t, smallest(t, text, out, append(sets, "train.steps=20")...), trainer.Options{})
	diverging := append(sets, "train.steps=60", "train.lr=1e38")
	_, err := tryTrain(context.Background(), smallest(t, text, out, diverging...), trainer.Options{Resume: trainer.ResumeAuto})
	var diverged *trainer.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.Equal(t, 10, diverged.InRow)
	good := filepath.Join(out, "checkpoints", "step-00000020")
	require.Equal(t, good, diverged.Good)
	require.NoError(t, checkpoint.Verify(good))
	r, err := tryTrain(context.Background(), smallest(t, text, out, append(sets, "train.steps=30")...), trainer.Options{Resume: trainer.Resume(good)})
	require.NoError(t, err)
	require.Equal(t, 30, r.Steps)
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	for _, m := range lines {
		require.False(t, m.Skipped, "step %d", m.Step)
	}
}

func TestResumeGoesOnlyIntoItsOwnRun(t *testing.T) {
	text, a, b := corpus(t), filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	train(t, smallest(t, text, a), trainer.Options{})
	train(t, smallest(t, text, b, "train.lr=2e-2"), trainer.Options{})
	before := tree(t, a)
	step := filepath.Join(b, "checkpoints", "step-00000009")
	for name, out := range map[string]string{"into another run": a, "into a new folder": filepath.Join(t.TempDir(), "new")} {
		t.Run(name, func(t *testing.T) {
			_, err := tryTrain(context.Background(), smallest(t, text, out, "train.steps=15"), trainer.Options{Resume: trainer.Resume(step)})
			wantKey(t, err, "out")
			require.ErrorContains(t, err, "-fork")
		})
	}
	require.Equal(t, before, tree(t, a), "a refused call changes nothing")

	copied := filepath.Join(a, "checkpoints", "step-00000009")
	require.NoError(t, os.RemoveAll(copied))
	require.NoError(t, os.CopyFS(copied, os.DirFS(step)))
	_, err := tryTrain(context.Background(), smallest(t, text, a, "train.steps=15"), trainer.Options{Resume: trainer.Resume(copied)})
	wantKey(t, err, "out")

	backup := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.CopyFS(backup, os.DirFS(filepath.Join(b, "checkpoints", "step-00000012"))))
	r := train(t, smallest(t, text, b, "train.lr=2e-2", "train.steps=15"), trainer.Options{Resume: trainer.Resume(backup)})
	require.Equal(t, 15, r.Steps, "a copy of a run's own checkpoint is its own")
}

func TestAForkIsARunOfItsOwn(t *testing.T) {
	text, a, b := corpus(t), filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	train(t, smallest(t, text, a), trainer.Options{})
	before := tree(t, a)
	from := filepath.Join(a, "checkpoints", "step-00000012")
	tr, err := trainer.Open(context.Background(), smallest(t, text, b, "train.steps=18"), trainer.Options{Fork: from})
	require.NoError(t, err)
	tr.Close()
	require.Equal(t, []string{"step-00000012"}, steps(t, b), "it can be resumed before its first step")
	require.Equal(t, losses(t, a), losses(t, b), "what led to the fork comes along")
	r := train(t, smallest(t, text, b, "train.steps=18"), trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, 18, r.Steps)
	require.Len(t, losses(t, b), 18)
	require.NotEqual(t, last(t, a).State.Run, last(t, b).State.Run)
	_, _, err = checkpoint.Best(b)
	require.NoError(t, err)
	require.Equal(t, before, tree(t, a))
	_, err = tryTrain(context.Background(), smallest(t, text, b), trainer.Options{Fork: from})
	wantError(t, err, &trainer.RunExistsError{Out: b})
	_, err = tryTrain(context.Background(), smallest(t, text, b), trainer.Options{Fork: from, Resume: trainer.ResumeAuto})
	require.ErrorContains(t, err, "want no -resume with it")
}

// fromTheFuture makes a sealed file one of a newer format version.
func fromTheFuture(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	body := bytes.Replace(text[:bytes.LastIndex(text, []byte(",\n  \"checksum\""))], []byte(`"version": 2`), []byte(`"version": 3`), 1)
	require.NoError(t, os.WriteFile(path, fmt.Appendf(body, ",\n  \"checksum\": \"%x\"\n}\n", sha256.Sum256(body)), 0o644))
}

func TestARunOfANewerProgramIsLeftAlone(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "run")
	train(t, smallest(t, text, whole), trainer.Options{})
	for _, name := range []string{"latest.json", "best.json", "checkpoints/step-00000012/state.json", "checkpoints/step-00000009/state.json"} {
		for _, resume := range []trainer.Resume{trainer.ResumeAuto, "checkpoints/step-00000009", "checkpoints/step-00000012"} {
			out := filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.CopyFS(out, os.DirFS(whole)))
			fromTheFuture(t, filepath.Join(out, name))
			before := tree(t, out)
			if resume != trainer.ResumeAuto {
				resume = trainer.Resume(filepath.Join(out, string(resume)))
			}
			_, err := tryTrain(context.Background(), smallest(t, text, out, "train.steps=15"), trainer.Options{Resume: resume})
			require.ErrorIs(t, err, checkpoint.ErrNewer, "%s with %s", resume, name)
			require.ErrorContains(t, err, filepath.Base(name))
			require.Equal(t, before, tree(t, out), "%s with %s", resume, name)
		}
	}
}

// tree is the digests of all files below a folder, but for what a lock writes.
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

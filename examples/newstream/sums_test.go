package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/optim"
)

// TestSumsAndSchedule: a config trains on our source with our schedule, a run that was stopped and
// resumed has the same bits as one that was not, the trained model finds its validation split
// again, and keys are checked.
func TestSumsAndSchedule(t *testing.T) {
	dir := t.TempDir()
	train := func(out string, more ...string) []string {
		args := []string{"train", "-config", "sums.yaml", "-out", filepath.Join(dir, out)}
		for _, set := range append([]string{"data.source.documents=700", "data.source.lines=2", "model.layers=1", "model.stream.d_model=16", "model.seq=16",
			"train.batch=2", "train.warmup=2", "train.eval_every=0", "sample.tokens=0"}, more...) {
			args = append(args, "-set", set)
		}
		return args
	}
	call(t, train("whole", "train.steps=6")...)
	call(t, train("parts", "train.steps=3")...)
	call(t, append(train("parts", "train.steps=6"), "-resume", "auto")...)
	call(t, train("threads", "train.steps=6", "device.threads=3")...)
	last := func(run string) string { return filepath.Join(dir, run, "checkpoints", "step-00000006") }
	whole := tensorsOf(t, filepath.Join(last("whole"), "model.safetensors"))
	assert.Equal(t, whole, tensorsOf(t, filepath.Join(last("parts"), "model.safetensors")))
	assert.Equal(t, whole, tensorsOf(t, filepath.Join(last("threads"), "model.safetensors")))
	assert.Contains(t, call(t, "eval", "-checkpoint", last("whole")), "bits per byte", "the file has the source's settings")
	config, err := os.ReadFile(filepath.Join(dir, "whole", "config.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(config), "source:\n    kind: sums\n    documents: 700\n")
	assert.Contains(t, string(config), "schedule:\n    kind: inverse-sqrt\n    shift: 100\n")
	call(t, "train", "-config", filepath.Join(dir, "whole", "config.yaml"), "-out", filepath.Join(dir, "again"))
	assert.Equal(t, whole, tensorsOf(t, filepath.Join(last("again"), "model.safetensors")))

	keys := call(t, "train", "-keys")
	assert.Regexp(t, `(?m)^data\.source .*; one of goroot, files, shards, conversations, mqar, memorization, bottleneck-copy, sums\n(.*\n)*data\.source\.most .* 99 +of sums: greatest number`, keys)
	assert.Regexp(t, `(?m)^train\.schedule .*; one of warmup-cosine, warmup-stable-decay, constant, inverse-sqrt\ntrain\.schedule\.shift .*of inverse-sqrt: steps that`, keys)
	zoo, err := newZoo()
	require.NoError(t, err)
	for set, want := range map[string]string{
		"data.source=web":            `want one of goroot, files, shards, conversations, mqar, memorization, bottleneck-copy, sums, got "web"`,
		"data.source.documents=0":    "data.source.documents: want >= 1, got 0",
		"data.source.digits=1":       "data.source.digits: unknown key",
		"data.path=[x]":              "data.path: want none for source sums, got [x]",
		"data.source=files":          "another kind discards data.source.documents, which was set before",
		"train.schedule=cosine":      "train.schedule.kind: unknown kind \"cosine\"; did you mean warmup-cosine?",
		"train.schedule.shift=-1":    "train.schedule.shift: want >= 0, got -1",
		"train.schedule={kind: cos}": `got "cos"`,
	} {
		var stdout, stderr bytes.Buffer
		assert.NotZero(t, cli.Main(zoo, train("bad", "train.steps=1", set), &stdout, &stderr), set)
		assert.Contains(t, stderr.String(), want, set)
	}
}

// TestInverseSqrt checks the factors of some steps by hand.
func TestInverseSqrt(t *testing.T) {
	s, err := InverseSqrt{Shift: 5}.With(optim.ScheduleOptions{Warmup: 4, Total: 100, Min: 0.4})
	require.NoError(t, err)
	for step, want := range map[int]float64{-1: 0.25, 0: 0.25, 3: 1, 4: 0.9486832980505138, 30: 0.5, 99: 0.4} {
		assert.InDelta(t, want, s.Factor(step), 1e-15, "step %d", step)
	}
	_, err = InverseSqrt{}.With(optim.ScheduleOptions{Total: 4})
	assert.EqualError(t, err, "train.schedule.shift: want >= 1 without a warmup, got 0")
}

// TestSums: documents are correct sums, all different, and the same with any number of threads.
func TestSums(t *testing.T) {
	load := func(threads int) *data.Corpus {
		c, err := data.Load(t.Context(), data.Options{Source: Sums{Documents: 600, Lines: 1, Most: 9, Seed: 4}, Split: "none", Threads: threads})
		require.NoError(t, err)
		return c
	}
	one := load(1)
	assert.Equal(t, one.Fingerprint, load(4).Fingerprint)
	assert.Equal(t, 600, one.Train.Documents)
	assert.Regexp(t, `^(\d\+\d=\d\d?\n)+$`, one.Tokenizer.Decode(one.Train.Tokens.IDs()))
}

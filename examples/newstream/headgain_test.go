package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/cli"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// gained returns the tiny model with our attention.
func gained() models.Config {
	c := tiny(1)
	c.Attention.Kind = HeadGain{Start: 0.5}
	return c
}

// TestHeadGain: the attention passes the suite on our stream, and with grouped heads and rotary
// positions.
func TestHeadGain(t *testing.T) {
	modeltest.Run(t, "layerscale", gained())
	c := gained()
	c.Attention.Heads, c.Attention.KVHeads, c.Attention.Positions, c.Attention.QKNorm = 6, 2, models.PositionsRoPE, true
	modeltest.Run(t, "grouped", c)
	c.Attention.Kind = HeadGain{Start: -1}
	_, err := c.Resolve()
	assert.EqualError(t, err, "model.attention.start: want a positive number, got -1")
}

// TestHeadGainDecomposes: the terms of heads include their gains, with and without a hooked
// pattern.
func TestHeadGainDecomposes(t *testing.T) {
	spec := modeltest.Resolve(t, gained())
	store := modeltest.PerturbedStore(t, spec, tensor.Float64)
	run, err := analysis.Run(store, spec, []int32{12, 3, 1, 4, 1, 5})
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	a, err := d.Attribute(5, 7, -1)
	require.NoError(t, err)
	assert.InDelta(t, a.Logit, a.Sum, 1e-12)

	b := modeltest.RandomBatch(spec, 2, spec.Seq, 1)
	want := modeltest.Compile(t, spec, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
	hooked := modeltest.Compile(t, spec, store, modeltest.Setup{Hooks: graph.Hooks{"blocks.1.attention.pattern": nil}})
	assert.LessOrEqual(t, modeltest.Distance(hooked.On(t, b, graph.RunOptions{}).Logits, want), 1e-12)
	x, err := hooked.Hooked("blocks.1.attention.pattern")
	require.NoError(t, err)
	assert.Equal(t, store.Param("blocks.1.attention.head_gain").Value.Float64s()[0], graph.Float64s(x)[0], "the first token sees itself alone, by the first head's gain")
}

// TestHeadGainRuns: a config trains a model with the attention, which generates with a cache; its
// keys are listed and checked, and a zoo without the attention refuses the run.
func TestHeadGainRuns(t *testing.T) {
	dir := t.TempDir()
	text, run := filepath.Join(dir, "text.txt"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("some text to learn. ", 60)), 0o644))
	train := func(more ...string) []string {
		args := []string{"train", "-config", "headgain.yaml", "-out", run}
		for _, set := range append([]string{"data.source=files", "data.path=[" + filepath.ToSlash(text) + "]", "data.split=tail/5", "model.layers=1", "model.stream.d_model=16",
			"model.seq=16", "train.batch=2", "train.steps=3", "train.eval_every=0", "sample.tokens=0"}, more...) {
			args = append(args, "-set", set)
		}
		return args
	}
	call(t, train()...)
	assert.True(t, strings.HasPrefix(call(t, "generate", "-checkpoint", run, "-prompt", "some", "-tokens", "4"), "some"))
	assert.Regexp(t, `model\.attention\.kind .*one of softmax, sliding, headgain`, call(t, "train", "-keys"))
	assert.Regexp(t, `model\.attention\.start .*of headgain: what each head's gain starts as`, call(t, "train", "-keys"))
	zoo, err := newZoo()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	assert.NotZero(t, cli.Main(zoo, train("model.attention.strat=1"), &stdout, &stderr))
	assert.Contains(t, stderr.String(), `model.attention.strat: unknown key; did you mean "start"?`)
	stderr.Reset()
	assert.NotZero(t, cli.Main(models.Standard(), []string{"generate", "-checkpoint", run}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), `model.attention.kind: want one of softmax, sliding, got "headgain"`)
}

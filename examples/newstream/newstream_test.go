package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/command"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// tiny is a model that the suite can run some thousand times.
func tiny(start float64) models.Config {
	return models.Config{
		Stream: LayerScale{Vectors: stream.Vectors{D: 12}, Start: start},
		Layers: 2, Vocab: 13, Seq: 8, BOS: 12, Init: models.InitLeCun,
		Attention: models.Attention{Heads: 3}, FeedForward: layers.GELUConfig{Hidden: 20},
	}
}

// TestConformance runs Residua's suite: shapes, causality, gradients against finite differences and
// against gorgonia.Grad, recomputation, dropout, caches, files, costs, learning, and with gains of 1
// that the model is a plain transformer.
func TestConformance(t *testing.T) {
	modeltest.Run(t, "small start", tiny(0))
	all := tiny(1)
	all.Bias, all.TieEmbeddings, all.Dropout, all.Attention.Positions = true, true, 0.2, models.PositionsRoPE
	modeltest.Run(t, "start 1", all)
}

// TestChecks: a bad setting is an error that names its key, and what is left out has its default.
func TestChecks(t *testing.T) {
	_, err := tiny(-1).Resolve()
	require.EqualError(t, err, "model.stream.start: want above 0 and at most 1, got -1")
	c := tiny(0)
	c.Attention.Heads = 5
	_, err = c.Resolve()
	require.ErrorContains(t, err, "model.attention.heads: want a divisor of d_model 12, got 5")
	assert.Equal(t, 0.1, modeltest.Resolve(t, tiny(0)).Stream.(LayerScale).Start)
}

// TestDecomposition: what the writers wrote, each by its gains, adds up to the logits and to what the
// sites read; without a run the heads have circuits.
func TestDecomposition(t *testing.T) {
	spec := modeltest.Resolve(t, tiny(0))
	store := modeltest.PerturbedStore(t, spec, tensor.Float64)
	run, err := analysis.Run(store, spec, []int32{12, 3, 1, 4, 1, 5})
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	for token := range 6 {
		a, err := d.Attribute(token, 7, -1)
		require.NoError(t, err)
		assert.InDelta(t, a.Logit, a.Sum, 1e-12)
		assert.Greater(t, len(a.Contributions), 2*(3+20), "heads and neurons of two blocks")
	}
	assert.Contains(t, analysis.Supports(spec), analysis.AnalysisCircuits)
	assert.NotContains(t, analysis.Supports(spec), analysis.AnalysisRotation, "gains have a basis of their own")
	_, err = analysis.FindCircuits(store, spec, analysis.CircuitOptions{})
	require.NoError(t, err)
}

// TestMain is also the program that bench starts again for each model that it measures.
func TestMain(m *testing.M) {
	if bench.IsChild() {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program in this process.
func call(t *testing.T, args ...string) string {
	t.Helper()
	zoo, err := newZoo()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	require.Zero(t, command.Main(zoo, args, &stdout, &stderr), stderr.String())
	return stdout.String()
}

// TestCommands: a model of the stream is trained, scored, sampled, listed, timed, compared and taken apart.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	text, run := filepath.Join(dir, "text.txt"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("some text to learn. ", 60)), 0o644))
	small := []string{"data.source=files", "data.path=[" + filepath.ToSlash(text) + "]", "data.split=tail/5",
		"model.layers=1", "model.stream.d_model=16", "model.seq=16", "train.batch=2", "sample.tokens=0"}
	train := []string{"train", "-config", "layerscale.yaml", "-out", run, "-set", "train.steps=3", "-set", "model.stream.start=0.5"}
	for _, set := range small {
		train = append(train, "-set", set)
	}
	call(t, train...)
	assert.Contains(t, call(t, "eval", "-checkpoint", run), "bits per byte")
	assert.True(t, strings.HasPrefix(call(t, "generate", "-checkpoint", run, "-prompt", "some", "-tokens", "4"), "some"))
	assert.Contains(t, call(t, "models"), "\nquickstart-layerscale ")
	assert.Regexp(t, `(?m)^layerscale-example +A_res +fixed`, call(t, "models", "-residuals"))
	var measured bench.Report
	require.NoError(t, json.Unmarshal([]byte(call(t, "bench", "zoo", "-models", "quickstart-layerscale", "-batch", "1", "-seq", "8", "-steps", "1", "-rounds", "1", "-json")), &measured))
	require.Len(t, measured.Designs, 2)
	assert.Equal(t, "quickstart-layerscale", measured.Designs[1].Name)
	streams := filepath.Join(dir, "streams")
	set := `set=["` + strings.Join(small, `", "`) + `", "train.eval_tokens=64"]`
	assert.Regexp(t, `(?m)^layerscale +1 +[+-]`, call(t, "experiment", "-out", streams, "-set", "tokens=96", "-set", set, "streams.yaml"))
	assert.Regexp(t, `(?m)/run .* 96 .*\n\S+/layerscale-seed0 .* 96 `, call(t, "compare", "-out", dir, run, filepath.Join(streams, "runs", "layerscale-seed0")))
	var document struct {
		Stream  string
		Results struct{ Attribution analysis.Attribution }
	}
	require.NoError(t, json.Unmarshal([]byte(call(t, "analyze", "attribute", "-checkpoint", run, "-prompt", "some", "-json")), &document))
	assert.Equal(t, "layerscale-example", document.Stream)
	assert.NotZero(t, document.Results.Attribution.Logit)
	assert.InDelta(t, document.Results.Attribution.Logit, document.Results.Attribution.Sum, 1e-5)
}

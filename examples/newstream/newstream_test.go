package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/cli"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve/explore"
	"github.com/residua-go/residua/stream"
)

// tiny returns a model small enough for the suite to run thousands of times.
func tiny(start float64) models.Config {
	return models.Config{
		Stream: LayerScale{Vectors: stream.Vectors{D: 12}, Start: start},
		Layers: 2, Vocab: 13, Seq: 8, BOS: 12, Init: models.InitLeCun,
		Attention: models.Attention{Heads: 3}, FeedForward: layers.GELUConfig{Hidden: 20},
	}
}

// TestConformance runs Residua's suite: shapes, causality, gradients against finite differences and
// against gorgonia.Grad, recomputation, dropout, caches, files, costs, learning, and that with
// gains of 1 the model is a plain transformer.
func TestConformance(t *testing.T) {
	modeltest.Run(t, "small start", tiny(0))
	all := tiny(1)
	all.Bias, all.TieEmbeddings, all.Dropout, all.Attention.Positions = true, true, 0.2, models.PositionsRoPE
	modeltest.Run(t, "start 1", all)
}

// TestChecks: a bad setting is an error that names its key, and an omitted setting has its default.
func TestChecks(t *testing.T) {
	_, err := tiny(-1).Resolve()
	require.EqualError(t, err, "model.stream.start: want above 0 and at most 1, got -1")
	c := tiny(0)
	c.Attention.Heads = 5
	_, err = c.Resolve()
	require.ErrorContains(t, err, "model.attention.heads: want a divisor of d_model 12, got 5")
	assert.Equal(t, 0.1, modeltest.Resolve(t, tiny(0)).Stream.(LayerScale).Start)
}

// TestDecomposition: what the writers wrote, multiplied by their gains, sums to the logits and to
// what the sites read; the heads have circuits, for which no run is needed.
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
	assert.NoError(t, analysis.CheckWeighted(spec))
	assert.Error(t, analysis.CheckRotatable(spec), "gains have a basis of their own")
	_, err = analysis.FindCircuits(t.Context(), store, spec, analysis.CircuitOptions{})
	require.NoError(t, err)
}

// TestLion: a config trains a model with the optimizer, and a run that was stopped and resumed has
// the same bits as one that was not; its keys are checked, and the state of another rule is
// refused.
func TestLion(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("some text to learn. ", 60)), 0o644))
	train := func(out string, more ...string) []string {
		args := []string{"train", "-config", "lion.yaml", "-out", filepath.Join(dir, out)}
		for _, set := range append([]string{"data.source=files", "data.path=[" + filepath.ToSlash(text) + "]", "data.split=tail/5", "model.layers=1", "model.stream.d_model=16",
			"model.seq=16", "train.batch=2", "train.schedule=constant", "train.lr=1e-3", "train.eval_every=0", "sample.tokens=0"}, more...) {
			args = append(args, "-set", set)
		}
		return args
	}
	call(t, train("whole", "train.steps=6")...)
	call(t, train("parts", "train.steps=3")...)
	call(t, append(train("parts", "train.steps=6"), "-resume", "auto")...)
	model := func(run string) []byte {
		bytes, err := os.ReadFile(filepath.Join(dir, run, "checkpoints", "step-00000006", "model.safetensors"))
		require.NoError(t, err)
		return bytes
	}
	assert.Equal(t, model("whole"), model("parts"))
	zoo, err := newZoo()
	require.NoError(t, err)
	for set, want := range map[string]string{
		"train.optim.beta1=1":   "train.optim: want betas in [0, 1), got 1 and 0.99",
		"train.optim.gamma=1":   "train.optim.gamma: unknown key",
		"train.optim={kind: x}": "lion",
	} {
		var stdout, stderr bytes.Buffer
		assert.NotZero(t, cli.Main(zoo, train("bad", "train.steps=1", set), &stdout, &stderr), set)
		assert.Contains(t, stderr.String(), want)
	}
	var stdout, stderr bytes.Buffer
	assert.NotZero(t, cli.Main(zoo, append(train("parts", "train.steps=8", "train.optim={kind: adamw}"), "-resume", "auto"), &stdout, &stderr))
	assert.Contains(t, stderr.String(), "optim")
}

// TestLionUpdates checks two updates of one weight by hand: they use the sign of a sum of momentum
// and gradient, and there is no step if the sum is 0.
func TestLionUpdates(t *testing.T) {
	task := lionTask{w: []float32{1, 1}, g: []float32{2, 0}, m: []float32{0, 0}, scale: 0.5, rate: 0.1, decay: 0.01, beta1: 0.9, beta2: 0.99}
	task.Part(0, 0, 2)
	assert.InDeltaSlice(t, []float32{1 - 0.1 - 0.01, 1 - 0.01}, task.w, 1e-6)
	assert.InDeltaSlice(t, []float32{0.01, 0}, task.m, 1e-6)
	task.g[0] = -0.02 // 0.9 * 0.01 - 0.1 * 0.01 > 0: the momentum wins
	task.Part(0, 0, 1)
	assert.InDelta(t, 0.89-0.1-0.0089, task.w[0], 1e-6)
}

// TestMain also serves as the program that bench starts again for each model that it measures.
func TestMain(m *testing.M) {
	if bench.IsChild() {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program's main function in this process.
func call(t *testing.T, args ...string) string {
	t.Helper()
	zoo, err := newZoo()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	require.Zero(t, cli.Main(zoo, args, &stdout, &stderr), stderr.String())
	return stdout.String()
}

// TestCommands: a model of the stream can be trained, scored, sampled, listed, measured, compared
// and decomposed by the commands.
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
	report := call(t, "experiment", "-out", filepath.Join(dir, "spread"), "-set", "tokens=96", "-set", set, "spread.yaml")
	assert.Regexp(t, `(?s)Losses over seeds \(bits\).*\ntransformer +\d\.\d{4} .*\nlayerscale +\d\.\d{4} `, report)
	assert.Regexp(t, `experiment\.unit .* of spread: nats a token`, call(t, "experiment", "-keys"))
	assert.Regexp(t, `(?m)/run .* 96 .*\n\S+/layerscale-seed0 .* 96 `, call(t, "compare", "-out", dir, run, filepath.Join(streams, "runs", "layerscale-seed0")))
	var document struct {
		Stream  string
		Results struct{ Attribution analysis.Attribution }
	}
	require.NoError(t, json.Unmarshal([]byte(call(t, "analyze", "attribute", "-checkpoint", run, "-prompt", "some", "-json")), &document))
	assert.Equal(t, "layerscale-example", document.Stream)
	assert.NotZero(t, document.Results.Attribution.Logit)
	assert.InDelta(t, document.Results.Attribution.Logit, document.Results.Attribution.Sum, 1e-5)
	checkNorms(t, run, filepath.Join(dir, "norms"))
	checkGains(t, run)
}

// checkGains checks that our command is one like the others, with help and flags.
func checkGains(t *testing.T, run string) {
	t.Helper()
	assert.Contains(t, call(t, "-h"), "\n  gains       how far training has moved")
	assert.Regexp(t, `(?s)gains runs/layerscale\n.*\n  CHECKPOINT  the model.*\n  -digits N .*\(default 3\)`, call(t, "gains", "-h"))
	assert.Regexp(t, `(?m)^blocks\.0\.attention\.gain +0\.4\d{4} +0\.5\d{4}$`, call(t, "gains", run, "-digits", "5"))
}

// checkNorms checks that our analysis is a command like the others, with help, JSON, a page and
// errors.
func checkNorms(t *testing.T, run, folder string) {
	t.Helper()
	assert.Contains(t, call(t, "analyze", "-h"), "\n  norms ")
	assert.Contains(t, call(t, "analyze", "norms", "-h"), "\n  -relative ")
	norms := func(more ...string) [][]float64 {
		var document struct{ Results struct{ Norms writeNorms } }
		require.NoError(t, json.Unmarshal([]byte(call(t, append([]string{"analyze", "norms", "-checkpoint", run, "-prompt", "some", "-json"}, more...)...)), &document))
		assert.Equal(t, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward"}, document.Results.Norms.Writers)
		return document.Results.Norms.Norms
	}
	whole, relative := norms(), norms("-relative")
	require.Len(t, whole[0], 5, "the token that begins documents, and four bytes")
	assert.InDelta(t, relative[1][2]/relative[0][2], whole[1][2]/whole[0][2], 1e-9)
	assert.NotEqual(t, whole, relative)
	assert.Contains(t, call(t, "analyze", "norms", "-checkpoint", run, "-prompt", "some", "-out", folder), "\nblocks.0.attention ")
	for _, file := range []string{"index.html", "norms.csv", "norms-1.svg"} {
		assert.FileExists(t, filepath.Join(folder, file))
	}
	zoo, err := newZoo()
	require.NoError(t, err)
	opened, err := pretrained.Open(run, zoo)
	require.NoError(t, err)
	explorer, err := explore.New(opened, explore.Options{})
	require.NoError(t, err)
	defer explorer.Close()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/explorer/analyses/norms", strings.NewReader(`{"prompt": "some", "relative": true}`))
	r.Header.Set("Content-Type", "application/json")
	explorer.ServeHTTP(w, r)
	var answered struct{ Results struct{ Norms writeNorms } }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answered), w.Body.String())
	assert.Equal(t, relative, answered.Results.Norms.Norms)
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 2, cli.Main(zoo.WithKinds(Norms{}), []string{"analyze", "lens", "-checkpoint", run}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), `analysis "norms": want one of that name in the zoo, got main.Norms and main.Norms: rename one`)
}

package pretrained_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// python returns a Python with the given packages, named by RESIDUA_PYTHON or python3; without one
// the test is skipped.
func python(t *testing.T, packages ...string) string {
	program := os.Getenv("RESIDUA_PYTHON")
	if program == "" {
		program = "python3"
	}
	for _, name := range packages {
		if out, err := exec.Command(program, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('"+name+"') is None)").CombinedOutput(); err != nil {
			t.Skipf("%s has no package %s (RESIDUA_PYTHON names another Python): %v %s", program, name, err, bytes.TrimSpace(out))
		}
	}
	return program
}

// texts returns texts on which tokenizers are compared.
func texts() []string {
	return []string{"func main() {\n\treturn x != nil\n}\n", "naïve café — 日本語 🙂 it's 1234  spaces", " leading", "a\u007fb", strings.Repeat("ab", 60)}
}

// putExpected writes the model's own logits, and the ids that it reads for texts, into an exported
// folder.
func putExpected(t *testing.T, folder string, m *pretrained.Model) {
	ids, narrow := make([]int, 2*40), make([]int32, 2*40)
	for i := range ids {
		ids[i] = (i*i + 3*i + i/40) % min(m.Spec.Vocab, 257)
		narrow[i] = int32(ids[i])
	}
	tensors := []checkpoint.Tensor{{Name: "tokens", Shape: []int{2, 40}, Data: narrow},
		{Name: "logits", Shape: []int{2, 40, m.Spec.Vocab}, Data: logitsOf(t, m, ids, 2)}}
	if rope := m.Spec.Attention.RopeScaling; !m.Spec.MaskDocuments && (rope.OriginalSeq == 0 || rope.OriginalSeq > 16) { // longrope changes there
		greedy := greedyAfter(t, m, narrow[:5])
		all := slices.Clone(ids[:5])
		for _, id := range greedy[:len(greedy)-1] {
			all = append(all, int(id))
		}
		tensors = append(tensors, checkpoint.Tensor{Name: "greedy", Shape: []int{len(greedy)}, Data: greedy},
			checkpoint.Tensor{Name: "greedy_logits", Shape: []int{len(greedy), m.Spec.Vocab}, Data: logitsOf(t, m, all, 1)[4*m.Spec.Vocab:]})
	}
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "expected.safetensors"), tensors, nil))
	if m.Data.Tokenizer == "" {
		return
	}
	tokenizer, err := m.Tokenizer()
	require.NoError(t, err)
	var cases []map[string]any
	for _, text := range texts() {
		cases = append(cases, map[string]any{"bos": tokenizer.BOS(), "text": text, "ids": data.EncodePrompt(tokenizer, text, nil)})
	}
	text, err := json.Marshal(cases)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "texts.json"), text, 0o600))
}

// greedyAfter returns the 12 likeliest tokens after a prompt.
func greedyAfter(t *testing.T, m *pretrained.Model, prompt []int32) []int32 {
	g, err := generate.New(m.Store, m.Spec, nil, generate.Options{Threads: 2})
	require.NoError(t, err)
	defer g.Close()
	result, err := g.Generate(t.Context(), generate.Request{IDs: prompt, Tokens: 12}, nil)
	require.NoError(t, err)
	return result.IDs
}

// inPython loads exported folders by transformers and returns the difference between each one's
// logits and ours.
func inPython(t *testing.T, program string, folders []string) map[string]float64 {
	type result struct {
		Folder, Text string
		Difference   float64
	}
	differences := map[string]float64{}
	for _, r := range script[result](t, program, "logits.py", folders) {
		require.Equal(t, "same", r.Text, r.Folder)
		differences[r.Folder] = r.Difference
	}
	require.Len(t, differences, len(folders))
	return differences
}

// script runs a script of testdata and decodes the lines that it prints.
func script[result any](t *testing.T, program, name string, folders []string) (results []result) {
	c := exec.CommandContext(t.Context(), program, append([]string{filepath.Join("testdata", name)}, folders...)...)
	c.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_MODULES_CACHE="+t.TempDir(), "OMP_NUM_THREADS=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, stderr.String())
	for line := range strings.Lines(string(out)) {
		var r result
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		results = append(results, r)
	}
	return results
}

// TestTransformersComputesTheSame: transformers computes the same logits for exported models: for
// the fixtures that it wrote and for models of ours. It loads them by its own classes and
// tokenizers.
func TestTransformersComputesTheSame(t *testing.T) {
	program := python(t, "torch", "transformers")
	all := map[string]*pretrained.Model{}
	for _, name := range []string{gpt2, llama, qwen3} {
		all[name] = open(t, reference(name))
	}
	for name, c := range ours() {
		all[name] = made(t, c, "bytes")
	}
	for _, f := range filledModels(t) {
		all[f.name] = open(t, f.write(t, 1))
	}
	words := ours()["gpt2"]
	words.Vocab = 50257
	all["gpt2 with its words"] = made(t, words, "gpt2")
	compareInPython(t, program, all, 2e-5)
}

// TestModelingResidua: the class that comes with an exported folder computes our models' logits in
// PyTorch.
func TestModelingResidua(t *testing.T) {
	program := python(t, "torch", "transformers")
	all := map[string]*pretrained.Model{}
	for name, c := range residuals() {
		all[name] = made(t, c, "bytes")
	}
	compareInPython(t, program, all, 1e-5)
}

// TestTransformersTrains: an exported model is trained by transformers' Trainer with the same loss
// and gradient, however many steps accumulate them, and its vocabulary can be resized.
func TestTransformersTrains(t *testing.T) {
	program := python(t, "torch", "transformers", "accelerate")
	var folders []string
	dir, all := t.TempDir(), residuals()
	for _, name := range []string{"rmt", "rmt, modern", "rmt of the quickstart", "transformer, options"} {
		folder := filepath.Join(dir, name)
		export(t, made(t, all[name], "bytes"), folder, pretrained.ExportOptions{})
		folders = append(folders, folder)
	}
	type result struct {
		Folder                          string
		Losses                          []float64
		Norm, Gradients, Share, Resized float64
		Vocab                           int
	}
	results := script[result](t, program, "training.py", folders)
	require.Len(t, results, len(folders))
	for i, r := range results {
		t.Logf("%+v", r)
		for _, loss := range r.Losses {
			require.InEpsilon(t, r.Losses[0], loss, 1e-3, r.Folder) // the Trainer logs 4 digits
		}
		require.Positive(t, r.Norm, r.Folder)
		require.LessOrEqual(t, r.Gradients, 1e-5, r.Folder)
		require.InDelta(t, 1, r.Share, 1e-6, r.Folder)
		require.Zero(t, r.Resized, r.Folder)
		back := open(t, filepath.Join(folders[i], "resized"))
		require.Equal(t, r.Vocab, back.Spec.Vocab, r.Folder)
	}
}

func compareInPython(t *testing.T, program string, all map[string]*pretrained.Model, tolerance float64) {
	var folders []string
	dir := t.TempDir()
	for name, m := range all {
		folder := filepath.Join(dir, name)
		export(t, m, folder, pretrained.ExportOptions{})
		putExpected(t, folder, m)
		folders = append(folders, folder)
	}
	for name, difference := range inPython(t, program, folders) {
		t.Logf("%s: %.2g", name, difference)
		require.LessOrEqual(t, difference, tolerance, name)
	}
}

// residuals returns models that modeling_residua.py computes: with each option of the RMT, and
// transformers for which transformers has no class.
func residuals() map[string]models.Config {
	rmt := func(change func(*models.Config)) models.Config {
		c := models.RMT(3, 6, 8, 4, 40)
		c.Vocab, c.Seq, c.Init = 257, 48, models.InitLeCun
		change(&c)
		return c
	}
	vector := func(change func(*models.Config)) models.Config {
		c := ours()["gpt2"]
		change(&c)
		return c
	}
	return map[string]models.Config{
		"rmt": rmt(func(c *models.Config) {}),
		"rmt of the quickstart": rmt(func(c *models.Config) {
			c.Attention.Positions, c.Attention.InverseLayerScaling = models.PositionsALiBi, true
			c.MaskDocuments, c.BOS = true, 256
		}),
		"rmt as its authors train it": rmt(func(c *models.Config) {
			c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling, c.MaskDocuments = models.NormRMS, models.PositionsALiBi, true, true
			c.MuP = &models.MuP{Base: models.MuPBase{Stream: models.RMT(1, 3, 4, 2, 20).Stream, FeedForward: layers.GELUConfig{Hidden: 20}},
				InputMultiplier: 2.5, OutputMultiplier: 0.7, AttnMultiplier: 1.3}
		}),
		"rmt, modern": rmt(func(c *models.Config) {
			c.Norm, c.Attention.Positions, c.Attention.QKNorm, c.Attention.KVHeads = models.NormRMS, models.PositionsRoPE, true, 2
			c.FeedForward, c.TieEmbeddings, c.LogitSoftcap, c.Attention.ValueResidual = layers.SwiGLUConfig{Hidden: 24}, true, 5, models.ValuesLearned
		}),
		"rmt with biases": rmt(func(c *models.Config) {
			c.Bias, c.Gelu, c.Attention.ValueResidual = true, models.GeluExact, models.ValuesFixed
		}),
		"rmt, gated, with biases": rmt(func(c *models.Config) {
			c.Bias, c.FeedForward, c.Attention.Positions = true, layers.SwiGLUConfig{Hidden: 24}, models.PositionsNone
		}),
		"rmt, relu2":         rmt(func(c *models.Config) { c.FeedForward = layers.ReLU2Config{Hidden: 24} }),
		"rmt, relu":          rmt(func(c *models.Config) { c.FeedForward = layers.ReLUConfig{Hidden: 24} }),
		"transformer, alibi": vector(func(c *models.Config) { c.Attention.Positions = models.PositionsALiBi }),
		"transformer, options": vector(func(c *models.Config) {
			c.Bias, c.LogitSoftcap, c.Attention.KVHeads = true, 4, 2
			c.Stream = withOptions(c.Stream)
		}),
	}
}

// withOptions switches on the options of a vector stream.
func withOptions(d stream.Design) stream.Design {
	c := d.(stream.VectorConfig)
	c.LayerScale, c.X0 = true, "nanochat"
	return c
}

// TestExportResidua: models on a matrix stream, and transformers for which transformers has no
// class, are read back with the same bits.
func TestExportResidua(t *testing.T) {
	for name, c := range residuals() {
		m := made(t, c, "bytes")
		folder, back := exported(t, m)
		requireSame(t, m, back, name)
		require.Equal(t, m.Spec, back.Spec, name)
		require.Equal(t, "bytes", back.Data.Tokenizer, name)
		require.FileExists(t, filepath.Join(folder, "modeling_residua.py"), name)
	}
}

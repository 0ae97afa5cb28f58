package pretrained_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// made returns an untrained model with a tokenizer ("": none), saved and opened again. All its
// parameters are random, also those that usually start as zeros or ones.
func made(t *testing.T, c models.Config, tokenizer string) *pretrained.Model {
	spec := resolved(t, c)
	m, err := models.New(gorgonia.NewGraph(), spec, graph.Options{Seed: 3})
	require.NoError(t, err)
	for i, p := range m.Store().Params() {
		for j, v := range p.Value.Float32s() {
			p.Value.Float32s()[j] = v + 0.1*float32((j*7919+i*104729)%101-50)/50
		}
	}
	d := pretrained.Description{Spec: spec}
	d.Data.Tokenizer = tokenizer
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, pretrained.Save(path, m.Store(), d))
	return open(t, path)
}

// ours returns a model of ours for each architecture that it can be exported as.
func ours() map[string]models.Config {
	small := func(c models.Config) models.Config {
		c.Vocab, c.Seq, c.Init = 257, 48, models.InitLeCun
		return c
	}
	gpt2 := small(models.Transformer(2, 32, 80, 4))
	gpt2.Attention.InverseLayerScaling, gpt2.NormEps = true, 1e-5
	biased := small(models.Transformer(2, 32, 80, 4))
	biased.Bias, biased.Gelu, biased.TieEmbeddings = true, models.GeluExact, true
	llama := small(models.Transformer(2, 32, 80, 4))
	llama.Norm, llama.Attention.Positions, llama.Attention.KVHeads, llama.Attention.HeadDim = models.NormRMS, models.PositionsRoPE, 2, 12
	llama.FeedForward = layers.SwiGLUConfig{Hidden: 56}
	qwen3 := llama
	qwen3.Attention.QKNorm, qwen3.TieEmbeddings, qwen3.Attention.RopeBase = true, true, 5e4
	return map[string]models.Config{"gpt2": gpt2, "gpt2 with biases": biased, "llama": llama, "qwen3": qwen3}
}

func export(t *testing.T, m *pretrained.Model, folder string, o pretrained.ExportOptions) {
	_, err := m.Export("huggingface", folder, o)
	require.NoError(t, err)
}

// exportAs exports a model in a format.
func exportAs(m *pretrained.Model, format, path string, o pretrained.ExportOptions) error {
	_, err := m.Export(format, path, o)
	return err
}

// exported exports a model and reads it back.
func exported(t *testing.T, m *pretrained.Model) (string, *pretrained.Model) {
	folder := filepath.Join(t.TempDir(), "exported")
	export(t, m, folder, pretrained.ExportOptions{})
	return folder, open(t, folder)
}

// TestExportHuggingFaceFixtures: folders that transformers wrote are exported again with the same
// tensors, bit for bit.
func TestExportHuggingFaceFixtures(t *testing.T) {
	for _, name := range []string{gpt2, llama, qwen3} {
		m := open(t, reference(name))
		folder, back := exported(t, m)
		requireSame(t, m, back, name)
		require.Equal(t, m.Spec, back.Spec, name)
		written, err := checkpoint.ReadTensors(filepath.Join(folder, "model.safetensors"))
		require.NoError(t, err)
		want := readForeign(t, name, "model.safetensors")
		require.Len(t, written.Tensors, len(want.Tensors))
		for _, tensor := range want.Tensors {
			got, err := written.Tensor(tensor.Name)
			require.NoError(t, err)
			require.Equal(t, tensor, got, name)
		}
		require.Equal(t, "pt", written.Metadata["format"])
	}
}

// TestExportHuggingFaceOurs: models of ours are read back as the same function of the same
// parameters, with their tokenizer.
func TestExportHuggingFaceOurs(t *testing.T) {
	for name, c := range ours() {
		m := made(t, c, "bytes")
		folder, back := exported(t, m)
		text, err := os.ReadFile(filepath.Join(folder, "config.json"))
		require.NoError(t, err)
		require.Contains(t, string(text), `"model_type": "`+strings.Fields(name)[0]+`"`)
		require.Equal(t, "bytes", back.Data.Tokenizer, name)
		require.Empty(t, back.Source.Warnings, name)
		if name != "gpt2" { // gpt2 gets biases
			requireSame(t, m, back, name)
		}
		ids := make([]int, 2*40)
		for i := range ids {
			ids[i] = i * i % 257
		}
		require.Equal(t, logitsOf(t, m, ids, 2), logitsOf(t, back, ids, 2), name)
	}
}

// TestExportHuggingFaceRefuses: the error names the option that no class has.
func TestExportHuggingFaceRefuses(t *testing.T) {
	vector := func(change func(*models.Config)) models.Config {
		c := ours()["llama"]
		change(&c)
		return c
	}
	for _, c := range []struct {
		architecture string
		config       models.Config
		want         string
	}{
		{"llama", vector(func(c *models.Config) { c.Attention.Positions = models.PositionsALiBi }), "llama: model.attention.positions: want rope, got alibi"},
		{"llama", vector(func(c *models.Config) { c.Attention.QKNorm = true }), "llama: model.attention.qk_norm: want false, got true"},
		{"llama", vector(func(c *models.Config) { c.LogitSoftcap = 30 }), "llama: model.logit_softcap: want 0, got 30"},
		{"llama", vector(func(c *models.Config) { c.Loops = 2 }), "llama: model.loops: want 1, got 2"},
		{"llama", vector(func(c *models.Config) { c.MaskDocuments, c.Separator = true, 4 }), "llama: data.source: want a source without a separator"},
		{"residua", vector(func(c *models.Config) { c.Loops = 2 }), "residua: model.loops: want 1, got 2"},
		{"qwen3", vector(func(c *models.Config) {}), "qwen3: model.attention.qk_norm: want true, got false"},
		{"llama", vector(func(c *models.Config) { c.FeedForward = layers.ReLU2Config{Hidden: 8} }), "llama: model.feedforward.kind: want swiglu, got relu2"},
		{"gpt2", ours()["llama"], "gpt2: model.attention.head_dim: want 8, got 12"},
		{"gpt2", models.RMT(1, 4, 4, 2, 8), "gpt2: model.stream.kind: want vector, got matrix"},
		{"", ours()["gpt2"].OnStream(stream.HyperConfig{N: 2}), "no class of transformers computes this model: gpt2: model.stream.kind: want vector, got hyper;"},
		{"bert", ours()["llama"], `architecture: want one of [gpt2 llama qwen3 mistral qwen2 gpt_neox gemma2 gemma3_text olmo2 smollm3 granite phi3 nanochat residua], got "bert"`},
	} {
		m := made(t, c.config, "")
		folder := filepath.Join(t.TempDir(), "out")
		_, err := m.Export("huggingface", folder, pretrained.ExportOptions{Architecture: c.architecture})
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
		require.NoDirExists(t, folder)
	}
}

// TestNoExportHasAnotherDesign: each format of another program refuses streams that it does not
// have, and loops, by the names of their keys, and writes nothing.
func TestNoExportHasAnotherDesign(t *testing.T) {
	refused := func(c models.Config, key, architecture string) {
		m, out := made(t, c, ""), filepath.Join(t.TempDir(), "out")
		_, huggingFace := m.Export("huggingface", out, pretrained.ExportOptions{Architecture: architecture})
		all := map[string]error{"huggingface": huggingFace, "gguf": exportAs(m, "gguf", out, pretrained.ExportOptions{IDsAlone: true})}
		if architecture == "" {
			all["rmt"] = exportAs(m, "rmt", out, pretrained.ExportOptions{}) // TestExportRMTOurs checks that it refuses loops
		}
		for format, err := range all {
			require.ErrorContains(t, err, key, "%s: %s", format, c.Stream.Name())
			require.NotContains(t, err.Error(), "\n")
		}
		require.NoFileExists(t, out)
		require.NoDirExists(t, out)
	}
	transformer, matrix := ours()["gpt2"].Stream.Name(), models.RMT(1, 1, 1, 1, 1).Stream.Name()
	for _, p := range modeltest.Small(models.Standard()) {
		if name := p.Config.Stream.Name(); name != transformer && name != matrix {
			refused(p.Config, "model.stream.kind: want ", "")
		}
	}
	for name, c := range ours() {
		c.Loops, c.LoopEnd = 3, 1
		refused(c, "model.loops: want 1, got 3", strings.Fields(name)[0])
		refused(c, "model.loops: want 1, got 3", "residua")
	}
}

// TestExportHuggingFaceReplacesWhole: a folder is not changed unless it is to be replaced.
func TestExportHuggingFaceReplacesWhole(t *testing.T) {
	m := open(t, reference(llama))
	folder := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.Mkdir(folder, 0o777))
	mine := filepath.Join(folder, "mine.txt")
	require.NoError(t, os.WriteFile(mine, []byte("x"), 0o600))
	_, err := m.Export("huggingface", folder, pretrained.ExportOptions{})
	require.ErrorIs(t, err, os.ErrExist)
	require.FileExists(t, mine)
	export(t, m, folder, pretrained.ExportOptions{Replace: true})
	require.NoFileExists(t, mine)
	requireSame(t, m, open(t, folder), "replaced")
	entries, err := os.ReadDir(filepath.Dir(folder))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing temporary is left: %v", slices.Clone(entries))
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/cli"
)

// TestFormat: a model exported to our format and read back has the same bits, every command reads
// the folder, help and errors name the format, and a model that the format cannot hold is refused
// by the name of its option.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	bytesOf := func(name string) []byte {
		t.Helper()
		all, err := os.ReadFile(at(name))
		require.NoError(t, err)
		return all
	}
	call(t, tinyRun(t, dir, "layerscale.yaml", "run", "train.steps=2")...)
	call(t, "convert", "-checkpoint", at("run"), "-format", "layerscale", "-out", at("folder"))
	call(t, "convert", "-checkpoint", at("run"), "-format", "residua", "-out", at("direct.safetensors"))
	call(t, "convert", "-checkpoint", at("folder"), "-format", "residua", "-out", at("back.safetensors"))
	direct, back := tensorsOf(t, at("direct.safetensors")), tensorsOf(t, at("back.safetensors"))
	assert.Equal(t, direct, back)
	call(t, "convert", "-checkpoint", at("back.safetensors"), "-format", "layerscale", "-out", at("folder"), "-replace")
	assert.Contains(t, string(bytesOf("folder/tensors.safetensors")), "blocks.0.gamma_1")
	generate := func(from string) string {
		return call(t, "generate", "-checkpoint", from, "-prompt", "some", "-tokens", "6", "-seed", "3")
	}
	assert.Equal(t, generate(at("run")), generate(at("folder")))

	assert.Regexp(t, `(?s)layerscale +a folder of a model on stream.*layerscale +a folder of LayerScale's example`, call(t, "convert", "-h"))
	zoo, err := newZoo()
	require.NoError(t, err)
	refused := func(want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		assert.NotZero(t, cli.Main(zoo, append([]string{"convert"}, args...), &stdout, &stderr))
		assert.Contains(t, stderr.String(), want)
	}
	refused("want one of residua, huggingface, peft, rmt, gguf, layerscale", "-checkpoint", at("run"), "-format", "x", "-out", at("x"))
	refused("want a folder of LayerScale's example (with layerscale.json), or a folder of LoRA adapters of peft's", "-checkpoint", dir, "-format", "residua", "-out", at("x"))
	refused("to export stream layerscale-example, write a pretrained.Architecture", "-checkpoint", at("run"), "-format", "huggingface", "-out", at("x"))
	refused("model.stream.kind: want layerscale-example, got vector", "-checkpoint", "../../testdata/reference/gpt2-hf", "-format", "layerscale", "-out", at("x"))
	require.NoError(t, os.WriteFile(at("folder/layerscale.json"), []byte(`{"version": 2, "model": {"stream": {"kind": "x"}}}`), 0o644))
	refused("layerscale.json: model: ", "-checkpoint", at("folder"), "-format", "residua", "-out", at("x"))
	assert.NoFileExists(t, at("x"))
}

// tinyRun returns arguments that train a small model from a config of this folder on a short text,
// with results in a folder of dir.
func tinyRun(t *testing.T, dir, config, out string, sets ...string) []string {
	t.Helper()
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("some text to learn. ", 60)), 0o644))
	args := []string{"train", "-config", config, "-out", filepath.Join(dir, out)}
	for _, set := range append([]string{"data.source=files", "data.path=[" + filepath.ToSlash(text) + "]", "data.split=tail/5", "model.layers=1", "model.stream.d_model=16",
		"model.seq=16", "train.batch=2", "train.eval_every=0", "sample.tokens=0"}, sets...) {
		args = append(args, "-set", set)
	}
	return args
}

// tensorsOf returns the tensors of a safetensors file.
func tensorsOf(t *testing.T, path string) []checkpoint.Tensor {
	t.Helper()
	file, err := checkpoint.ReadTensors(path)
	require.NoError(t, err)
	return file.Tensors
}

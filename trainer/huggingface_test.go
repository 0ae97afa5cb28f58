package trainer_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// llamaYAML describes the reference llama-hf with the vocabulary of the tokenizer bytes.
const llamaYAML = `
model:
  layers: 2
  seq: 16
  stream: {kind: vector, d_model: 24}
  attention: {heads: 4, kv_heads: 2, positions: rope, rope_base: 5000}
  feedforward: {kind: swiglu, hidden: 40}
  norm: rmsnorm
  norm_eps: 1e-5
data: {source: files, tokenizer: bytes, split: tail/4}
train: {batch: 4, steps: 3, lr: 1e-3, eval_every: 3, eval_tokens: 64}
sample: {tokens: 0}
device: {threads: 2}
`

// bytesLlama writes llama-hf with an embedding row for each id of the tokenizer bytes, by repeating
// the rows of its 113 ids.
func bytesLlama(t *testing.T) string {
	from, dir := filepath.Join("..", "testdata", "reference", "llama-hf"), t.TempDir()
	text, err := os.ReadFile(filepath.Join(from, "config.json"))
	require.NoError(t, err)
	var c map[string]any
	require.NoError(t, json.Unmarshal(text, &c))
	c["vocab_size"] = 257
	text, err = json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	file, err := checkpoint.ReadTensors(filepath.Join(from, "model.safetensors"))
	require.NoError(t, err)
	for i, w := range file.Tensors {
		if w.Shape[0] == 113 {
			rows := w.Data.([]float32)
			file.Tensors[i].Shape, file.Tensors[i].Data = []int{257, 24}, slices.Concat(rows, rows, rows)[:257*24]
		}
	}
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(dir, "model.safetensors"), file.Tensors, nil))
	return dir
}

// TestInitFromHuggingFace: a run starts from the weights in a Hugging Face folder if its model is
// the folder's model, and its checkpoint is read as a model of ours.
func TestInitFromHuggingFace(t *testing.T) {
	folder, out := bytesLlama(t), filepath.Join(t.TempDir(), "run")
	parse := func(sets ...string) *runconfig.Run {
		run, _, err := runconfig.Parse(models.Standard(), "llama.yaml", []byte(llamaYAML), append(sets, "data.path=["+corpus(t)+"]", "out="+out, "train.init_from="+folder))
		require.NoError(t, err)
		return run
	}
	_, err := trainer.Open(context.Background(), parse("model.norm_eps=1e-6"), trainer.Options{})
	require.ErrorContains(t, err, "train.init_from: "+filepath.Join(folder, "model.safetensors")+": model.norm_eps: want 1e-06, got 1e-05")

	start, err := pretrained.Open(folder)
	require.NoError(t, err)
	tr, err := trainer.Open(context.Background(), parse(), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	for _, p := range start.Store.Params() {
		require.Equal(t, p.Value.Float32s(), tr.Store().Param(p.Name).Value.Float32s(), p.Name)
	}
	r, err := tr.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, 3, r.Steps)
	trained, err := pretrained.Open(out)
	require.NoError(t, err)
	require.NoError(t, trained.Spec.SameModel(start.Spec))
	require.NotEqual(t, start.Store.Param("unembedding").Value.Float32s(), trained.Store.Param("unembedding").Value.Float32s())
}

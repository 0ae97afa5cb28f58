package pretrained

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/internal/fuzztest"
	"github.com/residua-go/residua/models"
)

// FuzzConfigJSON: a config.json that is read describes a model that is written as a config.json of
// the same model.
func FuzzConfigJSON(f *testing.F) {
	for _, text := range []string{
		`{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "vocab_size": 20, "n_positions": 16}`,
		`{"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12, "vocab_size": 20, "max_position_embeddings": 16,
			"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8}}`,
		`{"model_type": "qwen3", "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "hidden_size": 8, "intermediate_size": 12, "vocab_size": 20, "max_position_embeddings": 16}`,
		`{"model_type": "mistral", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12, "vocab_size": 20, "max_position_embeddings": 16, "sliding_window": 4}`,
		`{"model_type": "gpt2", "n_layer": 1e9, "quantization_config": {}}`, `[]`,
	} {
		f.Add([]byte(text))
	}
	zoo := models.Standard()
	f.Fuzz(func(t *testing.T, text []byte) {
		var a Architecture
		var spec models.Spec
		var err error
		fuzztest.Bounded(t, len(text), func() { a, spec, err = parseHuggingFace(zoo, text) })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		written, err := json.Marshal(a.config(spec))
		require.NoError(t, err)
		again, err := a.spec(written)
		require.NoError(t, err, "%s", written)
		again.TieEmbeddings = spec.TieEmbeddings // written by Export
		require.NoError(t, again.SameModel(spec), "%s", written)
	})
}

// FuzzFolder: a Hugging Face folder with any config.json, generation_config.json and weights is an
// error or a model.
func FuzzFolder(f *testing.F) {
	config := []byte(`{"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 4, "vocab_size": 5, "n_positions": 2}`)
	weights := filepath.Join(f.TempDir(), "w.safetensors")
	require.NoError(f, checkpoint.WriteTensors(weights, []checkpoint.Tensor{{Name: "wte.weight", Shape: []int{5, 4}, Data: make([]float32, 20)}}, nil))
	content, err := os.ReadFile(weights)
	require.NoError(f, err)
	f.Add(config, []byte(`{"eos_token_id": [1, 2]}`), content)
	f.Add(config, []byte(`{"eos_token_id": "x"}`), []byte("GGUF\x03\x00\x00\x00"))
	f.Add(config, []byte(`{}`), []byte("\x80\x02}q\x00."))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, config, generation, weights []byte) {
		for name, content := range map[string][]byte{"config.json": config, "generation_config.json": generation, "model.safetensors": weights, "pytorch_model.bin": weights} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		var err error
		fuzztest.Bounded(t, len(config)+len(generation)+len(weights), func() { _, err = Open(dir) })
		fuzztest.OneLine(t, err)
	})
}

// FuzzRMT: a description in the layout of the RMT's authors is an error or a model.
func FuzzRMT(f *testing.F) {
	f.Add([]byte(`{"kind": "official-rmt", "config": {"n_layer": 1}, "seq": 4, "bos": 0}`))
	f.Add([]byte(`{"kind": "official-transformer"}`))
	file := fuzztest.File(f, rmtFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := filepath.Dir(file(t, text))
		var err error
		fuzztest.Bounded(t, len(text), func() { _, err = Open(dir) })
		require.Error(t, err, "there are no weights")
		fuzztest.OneLine(t, err)
	})
}

// FuzzTask: each line of a task's file is a document, or the error names it.
func FuzzTask(f *testing.F) {
	formats := tasks.Formats()
	for i, format := range formats {
		files, err := filepath.Glob(filepath.Join("..", "eval", "tasks", "testdata", "*.jsonl"))
		require.NoError(f, err)
		for _, example := range files {
			text, err := os.ReadFile(example)
			require.NoError(f, err)
			if filepath.Base(example) == format.Name+".jsonl" {
				f.Add(text, uint8(i))
			}
		}
	}
	f.Add([]byte(`{"question": "a", "choices": {"text": [], "label": []}, "answerKey": "A"}`), uint8(0))
	file := fuzztest.File(f, "task.jsonl")
	f.Fuzz(func(t *testing.T, text []byte, format uint8) {
		path := file(t, text)
		var task *tasks.Task
		var err error
		fuzztest.Bounded(t, len(text), func() {
			task, err = tasks.Load(t.Context(), path, tasks.Options{Format: formats[int(format)%len(formats)].Name})
		})
		fuzztest.OneLine(t, err)
		if err == nil {
			require.NotEmpty(t, task.Documents())
		}
	})
}

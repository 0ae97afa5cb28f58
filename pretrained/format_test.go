package pretrained_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// siamese is an architecture from another module: a class for a stream that transformers does not
// have.
func siamese() pretrained.Architecture {
	return pretrained.Architecture{
		Type: "siamese", Class: "SiameseForCausalLM", Stream: "siamese", CodeFile: "modeling_siamese.py", Code: "# a class\n",
		Read: func(m *pretrained.Described, text []byte) error {
			var c struct{ Model json.RawMessage }
			if err := json.Unmarshal(text, &c); err != nil {
				return err
			}
			var err error
			m.Config, err = models.Standard().UnmarshalVersion(2, c.Model)
			return err
		},
		Write: func(spec models.Spec) map[string]any {
			return map[string]any{"model": spec.Config, "auto_map": map[string]string{"AutoModelForCausalLM": "modeling_siamese.SiameseForCausalLM"}}
		},
	}
}

// TestArchitectureOfAnother: a zoo's architecture is exported with its class and read back. Without
// the architecture, exporting the stream is refused with what to write instead, and reading the
// folder with a list of the known architectures.
func TestArchitectureOfAnother(t *testing.T) {
	plain, err := models.Standard().Preset("quickstart-siamese")
	require.NoError(t, err)
	c := plain.Config
	c.Layers, c.Vocab = 1, 257
	m, folder := made(t, c, "bytes"), filepath.Join(t.TempDir(), "folder")
	_, err = m.Export("huggingface", folder, pretrained.ExportOptions{})
	require.ErrorContains(t, err, "siamese, write a pretrained.Architecture with its modeling_*.py, and add it by models.Zoo.WithKinds")
	_, err = m.Export("x", folder, pretrained.ExportOptions{})
	require.ErrorContains(t, err, `unknown format "x": want one of residua, huggingface, peft, rmt, gguf`)
	require.NoDirExists(t, folder)

	zoo := models.Standard().WithKinds(siamese())
	m.Zoo = zoo
	require.Equal(t, []string{"gpt2", "llama", "qwen3", "mistral", "qwen2", "gpt_neox", "gemma2", "gemma3_text", "olmo2", "smollm3", "granite", "phi3", "nanochat", "residua", "siamese"}, pretrained.ArchitectureNames(zoo))
	notes, err := m.Export("huggingface", folder, pretrained.ExportOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"no class of transformers computes this model: load it with trust_remote_code=True, by the folder's modeling_siamese.py"}, notes)
	code, err := os.ReadFile(filepath.Join(folder, "modeling_siamese.py"))
	require.NoError(t, err)
	require.Equal(t, "# a class\n", string(code))

	again, err := pretrained.Open(folder, zoo)
	require.NoError(t, err)
	require.NoError(t, m.Spec.SameModel(again.Spec))
	require.Equal(t, pretrained.Tensors(m.Store), pretrained.Tensors(again.Store))
	require.Equal(t, "bytes", again.Data.Tokenizer)
	_, err = pretrained.Open(folder)
	require.ErrorContains(t, err, `model_type: want one of [gpt2 llama qwen3 mistral qwen2 gpt_neox gemma2 gemma3_text olmo2 smollm3 granite phi3 nanochat residua], got "siamese"`)
}

// TestOpenNamesFormats: a folder that nothing reads is refused with a list of all formats; a
// Hugging Face folder without weights with the files that are missing.
func TestOpenNamesFormats(t *testing.T) {
	dir := t.TempDir()
	_, err := pretrained.Open(dir)
	require.ErrorContains(t, err, "want a folder of LoRA adapters of peft's (with adapter_config.json), on a model that is on this machine, or a Hugging Face folder (with config.json), or a folder in the RMT authors' layout (with weights.safetensors and rmt.json), or nanoGPT's ckpt.pt, or a folder of nanochat's (with meta.json or meta_STEP.json, and model.safetensors or model_STEP.pt), or a GGUF file, or a model of ours: checkpoint")
	config, err := os.ReadFile(filepath.Join("..", "testdata", "reference", "gpt2-hf", "config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	_, err = pretrained.Open(dir)
	require.ErrorContains(t, err, "has a config.json but no model.safetensors, model.safetensors.index.json or pytorch_model.bin")
}

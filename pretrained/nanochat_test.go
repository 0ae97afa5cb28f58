package pretrained_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// TestNanoChat: the sizes and options of nanochat's files (models' TestReference compares logits).
func TestNanoChat(t *testing.T) {
	m := open(t, reference("nanochat-native"))
	v := m.Spec.Stream.(stream.VectorConfig)
	assert.Equal(t, []any{true, 24, true, "nanochat"}, []any{v.EmbeddingNorm, v.Smear, v.Backout, v.X0})
	assert.Equal(t, layers.SlidingAttention{Window: 129, Layers: []int{0}}, m.Spec.Attention.Kind)
	assert.Equal(t, 12, m.Spec.Attention.ValueEmbeddings)
	assert.Equal(t, 113, m.Spec.Vocab)
	require.Len(t, m.Source.Warnings, 1)
	assert.Contains(t, m.Source.Warnings[0], "no tokenizer.json")
}

// TestNanoChatInAFolderOfAnyName: a folder whose name is a pattern is read, too.
func TestNanoChatInAFolderOfAnyName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "d20 [base]")
	require.NoError(t, os.CopyFS(folder, os.DirFS(reference("nanochat-native"))))
	assert.Equal(t, 113, open(t, folder).Spec.Vocab)
}

// TestNanoChatRefuses: what cannot be told, or does not fit, is an error of one line.
func TestNanoChatRefuses(t *testing.T) {
	file, err := checkpoint.ReadTensors(filepath.Join(reference("nanochat-native"), checkpoint.ModelFile))
	require.NoError(t, err)
	meta, err := os.ReadFile(filepath.Join(reference("nanochat-native"), "meta.json"))
	require.NoError(t, err)
	without := func(name string) []checkpoint.Tensor {
		return slices.DeleteFunc(slices.Clone(file.Tensors), func(t checkpoint.Tensor) bool { return t.Name == name })
	}
	for _, c := range []struct {
		want    string
		meta    string
		tensors []checkpoint.Tensor
	}{
		{"rotary positions cannot be told", "", without("smear_lambda")},
		{"want resid_lambdas and x0_lambdas with a number for each of 3 blocks, got 3 and 0", "", without("x0_lambdas")},
		{"value_embeds.2.weight", "", without("value_embeds.2.weight")},
		{"first commits", strings.Replace(string(meta), "92d63d4e8bb4df75c3b71618f31ddde2378b2bcd", "old", 1), nil},
		{"model_config", strings.Replace(string(meta), `"n_layer": 3`, `"n_layer": 0`, 1), nil},
		{"model_config", "[]", nil},
	} {
		folder := t.TempDir()
		if c.tensors == nil {
			c.tensors = file.Tensors
		}
		if c.meta == "" {
			c.meta = string(meta)
		}
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, checkpoint.ModelFile), c.tensors, nil))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "meta_000001.json"), []byte(c.meta), 0o644))
		_, err := pretrained.Open(folder)
		if assert.ErrorContains(t, err, c.want) {
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

// TestNanoChatExports: what transformers' class holds comes back bit for bit, trained gains do not.
func TestNanoChatExports(t *testing.T) {
	m := open(t, reference("nanochat-hf"))
	folder, back := exported(t, m)
	requireSame(t, m, back, "back")

	m.Store.Param("blocks.1.attention.k_norm").Value.Float32s()[2] = 1.5
	_, err := m.Export("huggingface", folder+"2", pretrained.ExportOptions{Architecture: "nanochat"})
	require.ErrorContains(t, err, "blocks.1.attention.k_norm\": want 1 in every entry")
	_, err = open(t, reference("nanochat-native")).Export("huggingface", folder+"3", pretrained.ExportOptions{Architecture: "nanochat"})
	require.ErrorContains(t, err, "model.stream.smear: want 0, got 24")
}

package pretrained_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// TestNanoGPT: nanoGPT's ckpt.pt opens, and gives the logits of its equations in PyTorch.
func TestNanoGPT(t *testing.T) {
	folder := filepath.Join("..", "testdata", "transformers")
	m := open(t, filepath.Join(folder, "ckpt.pt"))
	require.True(t, m.Spec.Bias)
	file, err := checkpoint.ReadTensors(filepath.Join(folder, "nanogpt.safetensors"))
	require.NoError(t, err)
	ids, err := file.Tensor("tokens")
	require.NoError(t, err)
	tokens, err := ids.Ints()
	require.NoError(t, err)
	logits, err := file.Tensor("logits")
	require.NoError(t, err)
	requireClose(t, logits.Data.([]float32), logitsOf(t, m, tokens, 1), hfTolerance)
	_, back := exported(t, m)
	requireSame(t, m, back, "exported as gpt2")
}

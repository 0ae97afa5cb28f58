package pretrained_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// peoplesInGGUF returns models of the classes of testdata/transformers, with a tokenizer, as
// llama.cpp can compute them. Each folder's changes are what llama.cpp fixes.
func peoplesInGGUF(t *testing.T) map[string]*pretrained.Model {
	all := map[string]*pretrained.Model{}
	plain := func(c *models.Config) { c.Attention.Kind = nil }
	blocks := func(c *models.Config) { // llama.cpp's windows, and its scale
		s := c.Attention.Kind.(layers.SlidingAttention)
		s.Window, c.Attention.Scale = 8, 1/math.Sqrt(8)
		if c.Layers, s.Layers = 4, []int{0, 2}; s.RopeBase != 0 {
			c.Layers, s.Layers, s.RopeBase = 6, []int{0, 1, 2, 3, 4}, 10000
		}
		c.Attention.Kind, c.Attention.HeadDim = s, 8
	}
	for _, f := range filledModels(t) {
		change, known := map[string]func(c *models.Config){
			"qwen2": plain, "gpt_neox": plain, "olmo2": plain, "granite": plain, "llama-biases": plain,
			"gpt_neox-serial": func(c *models.Config) { c.TieEmbeddings, c.Gelu = false, models.GeluTanh },
			"gemma2":          blocks, "gemma3_text": blocks, "gemma3_text-scaled": blocks,
			"phi3":    func(c *models.Config) { c.Attention.Kind, c.Attention.RopePart = nil, 0.5 },
			"smollm3": func(c *models.Config) { c.Layers, c.Attention.NoRope = 4, []int{3} },
		}[f.name]
		if !known {
			continue
		}
		c := open(t, f.write(t, 1)).Spec.Config
		change(&c)
		c.Vocab, c.Init, c.InitStd = 257, models.InitLeCun, 0
		all[f.name] = made(t, c, "bytes")
	}
	require.Len(t, all, 11)
	return all
}

package pretrained_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const qwen3 = "qwen3-hf"

func TestOpenQwen3(t *testing.T) {
	p := open(t, reference(qwen3))
	c := llamaLike()
	c.Attention.HeadDim, c.Attention.RopeBase, c.Attention.QKNorm, c.NormEps, c.TieEmbeddings = 8, 1000, true, 1e-6, true
	require.Equal(t, resolved(t, c), p.Spec)
	tokens, want := expected(t, qwen3)
	requireClose(t, want, logitsOf(t, p, tokens, 2), hfTolerance)
}

// A window that no layer uses changes nothing, nor does a config.json of transformers 5.
func TestQwen3Spellings(t *testing.T) {
	want := open(t, reference(qwen3))
	for name, change := range map[string]func(*foreign){
		"window of later layers": func(f *foreign) {
			delete(f.config, "layer_types")
			f.config["use_sliding_window"], f.config["sliding_window"], f.config["max_window_layers"] = true, 8, 2
		},
		"no window": func(f *foreign) {
			delete(f.config, "layer_types")
			f.config["use_sliding_window"] = true
		},
		"transformers 5": func(f *foreign) {
			delete(f.config, "rope_theta")
			delete(f.config, "rope_scaling")
			f.config["rope_parameters"] = map[string]any{"rope_theta": 1000, "rope_type": "default"}
		},
	} {
		f := openForeign(t, qwen3)
		change(f)
		requireSame(t, want, open(t, f.write(t)), name)
	}
}

func TestQwen3Refuses(t *testing.T) {
	set := func(key string, value any) func(*foreign) { return func(f *foreign) { f.config[key] = value } }
	for _, c := range []struct {
		name   string
		change func(*foreign)
		want   check
	}{
		{"another version", set("model_type", "qwen2"), tensorNamed("layers.0.self_attn.q_proj.bias")},
		{"experts", set("model_type", "qwen3_moe"), setting("model_type")},
		{"types of three layers", set("layer_types", []string{"full_attention", "full_attention", "full_attention"}), setting("layer_types")},
		{"type of the types", set("layer_types", "full_attention"), setting("layer_types")},
		{"attention bias", set("attention_bias", true), setting("attention_bias")},
		{"default head dimension", func(f *foreign) { delete(f.config, "head_dim") }, tensorNamed("model.layers.0.self_attn.q_proj.weight")}, // 128
		{"no norm of queries", func(f *foreign) { f.remove("model.layers.1.self_attn.q_norm.weight") }, tensorNamed("layers.1.self_attn.q_norm.weight")},
		{"norm of all heads together", func(f *foreign) {
			w := f.tensor("model.layers.0.self_attn.k_norm.weight")
			w.Shape, w.Data = []int{16}, make([]float32, 16)
		}, tensorNamed("model.layers.0.self_attn.k_norm.weight")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openForeign(t, qwen3)
			c.change(f)
			requireRefused(t, f.write(t), c.want)
		})
	}
}

package pretrained

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/layers"
)

// qwen3 is Qwen3 (Yang et al. 2025, arXiv 2505.09388): Llama whose queries and keys have norms.
func qwen3() Architecture {
	return Architecture{
		Type: "qwen3", Class: "Qwen3ForCausalLM", Stream: vectorStream(), GGUF: &GGUFForm{Eps: "attention.layer_norm_rms_epsilon"},
		Keys: llamaKeys, Read: readQwen3, Write: writeLlama,
		Defaults: `{"vocab_size": 151936, "max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
			"num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "rms_norm_eps": 1e-6}`,
		Tensors: llamaTensors + qwen3Norms, Prefix: "model.", Head: "lm_head.weight",
	}
}

func readQwen3(m *Described, text []byte) error {
	m.Attention.QKNorm = true
	if err := checkWindow(text); err != nil {
		return err
	}
	return readLlama(m, text)
}

// checkWindow wants every layer of a config.json to attend to all that is before it.
func checkWindow(text []byte) error {
	window := 4096
	c := struct {
		Layers     int      `json:"num_hidden_layers"`
		UseWindow  bool     `json:"use_sliding_window"`
		Window     *int     `json:"sliding_window"`
		FullLayers int      `json:"max_window_layers"` // before those that have a window
		LayerTypes []string `json:"layer_types"`
	}{Layers: 32, Window: &window, FullLayers: 28}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	const full, why = "full_attention", "attention in a sliding window is not built"
	if n := len(c.LayerTypes); n > 0 && c.Layers > 0 && n != c.Layers {
		return layers.Setting("layer_types", "want %d, one for each of num_hidden_layers, got %d", c.Layers, n)
	}
	if l := slices.IndexFunc(c.LayerTypes, func(kind string) bool { return kind != full }); l >= 0 {
		return layers.Setting(fmt.Sprintf("layer_types[%d]", l), "want %s, got %q: %s", full, c.LayerTypes[l], why)
	}
	if len(c.LayerTypes) == 0 && c.UseWindow && c.Window != nil && c.FullLayers < c.Layers {
		return layers.Setting("use_sliding_window", "want false, got true with a window of %d from layer %d on: %s", *c.Window, c.FullLayers, why)
	}
	return nil
}

// qwen3Norms are what Qwen3's table has after Llama's.
const qwen3Norms = `blocks.%d.attention.q_norm h   layers.%d.self_attn.q_norm.weight         h   blk.%d.attn_q_norm.weight
blocks.%d.attention.k_norm h   layers.%d.self_attn.k_norm.weight         h   blk.%d.attn_k_norm.weight`

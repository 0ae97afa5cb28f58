package pretrained

import (
	"maps"
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// smolLM3 is SmolLM3: Llama with rotary positions in three layers of four (Yang et al. 2025, arXiv
// 2501.18795) and, optionally, windows in the layers without.
func smolLM3() Architecture {
	a := llama()
	a.Type, a.Class, a.Read, a.Write, a.Keys, a.Unused = "smollm3", "SmolLM3ForCausalLM", readSmolLM3, writeSmolLM3, llamaKeys+windowKey, nil
	a.GGUF = &GGUFForm{Neighbours: true, Check: smolLM3GGUF}
	a.Defaults = `{"vocab_size": 128256, "max_position_embeddings": 32768, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
		"num_attention_heads": 16, "num_key_value_heads": 4, "rms_norm_eps": 1e-6, "tie_word_embeddings": true}`
	return a
}

// readSmolLM3 reads no_rope_layers, where 1 means a layer with positions; without it every
// no_rope_layer_interval-th layer has none.
func readSmolLM3(m *Described, text []byte) error {
	c := struct {
		Positions []int `json:"no_rope_layers"`
		Interval  int   `json:"no_rope_layer_interval"`
	}{Interval: 4}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if n := len(c.Positions); n > 0 && n != m.Layers {
		return layers.Setting("no_rope_layers", "want %d, one for each of num_hidden_layers, got %d", m.Layers, n)
	}
	for l := range min(m.Layers, maxWindowLayers) {
		if len(c.Positions) > 0 && c.Positions[l] == 0 || len(c.Positions) == 0 && c.Interval > 0 && (l+1)%c.Interval == 0 {
			m.Attention.NoRope = append(m.Attention.NoRope, l)
		}
	}
	err := readWindows(m, text, windowKeys{}, func(_ windowKeys, l int) bool { return slices.Contains(m.Attention.NoRope, l) })
	if err == nil {
		err = readLlama(m, text)
	}
	if err == nil {
		err = addRopeFrom(&m.Attention, text, 2e6)
	}
	return err
}

func writeSmolLM3(spec models.Spec) map[string]any {
	config, positions := writeLlama(spec), make([]int, spec.Layers)
	for l := range positions {
		if !slices.Contains(spec.Attention.NoRope, l) {
			positions[l] = 1
		}
	}
	maps.Copy(config, map[string]any{"no_rope_layers": positions, "use_sliding_window": false, "layer_types": layerTypes(spec.Attention.Kind, spec.Layers)})
	if kind, ok := spec.Attention.Kind.(layers.SlidingAttention); ok {
		maps.Copy(config, layerWindows(kind, spec.Layers))
	}
	return config
}

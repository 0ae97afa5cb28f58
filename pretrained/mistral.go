package pretrained

import (
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// mistral is Mistral (Jiang et al. 2023, arXiv 2310.06825): Llama with a window in all layers, or
// in none. llama.cpp computes it without the window.
func mistral() Architecture {
	a := llama()
	a.Type, a.Class, a.GGUF, a.Unused = "mistral", "MistralForCausalLM", nil, nil
	a.Keys, a.Read, a.Write = llamaSizes+noBiases+windowKey, readMistral, writeMistral
	a.Defaults = `{"vocab_size": 32000, "max_position_embeddings": 131072, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-6}`
	return a
}

func readMistral(m *Described, text []byte) error {
	window := defaultWindow
	c := struct {
		Window *int `json:"sliding_window"`
	}{&window}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if c.Window != nil {
		m.Attention.Kind = layers.SlidingAttention{Window: *c.Window}
	}
	return readLlama(m, text)
}

// writeMistral writes the window, null if there is none.
func writeMistral(spec models.Spec) map[string]any {
	config := writeLlama(spec)
	config["sliding_window"] = nil
	if kind, ok := spec.Attention.Kind.(layers.SlidingAttention); ok {
		config["sliding_window"] = kind.Window
	}
	return config
}

package pretrained

import (
	"maps"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// qwen3 is Qwen3 (Yang et al. 2025, arXiv 2505.09388): Llama with norms on queries and keys
// and, optionally, attention windows in some layers.
func qwen3() Architecture {
	return Architecture{
		Type: "qwen3", Class: "Qwen3ForCausalLM", Stream: vectorStream(), GGUF: &GGUFForm{},
		Keys: llamaSizes + noBiases + windowKey, Read: readQwen3, Write: writeQwen3,
		Defaults: `{"vocab_size": 151936, "max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
			"num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "rms_norm_eps": 1e-6}`,
		Tensors: llamaTensors + qwen3Norms, Prefix: "model.", Head: "lm_head.weight", VocabFiles: true,
	}
}

func readQwen3(m *Described, text []byte) error {
	m.Attention.QKNorm = true
	if err := readLayerWindows(m, text); err != nil {
		return err
	}
	return readLlama(m, text)
}

// writeQwen3 writes which layers have a window.
func writeQwen3(spec models.Spec) map[string]any {
	config := writeLlama(spec)
	if kind, ok := spec.Attention.Kind.(layers.SlidingAttention); ok {
		maps.Copy(config, layerWindows(kind, spec.Layers))
	}
	return config
}

// qwen3Norms are the rows that Qwen3's table has in addition to Llama's.
const qwen3Norms = `blocks.%d.attention.q_norm h   layers.%d.self_attn.q_norm.weight         h   blk.%d.attn_q_norm.weight
blocks.%d.attention.k_norm h   layers.%d.self_attn.k_norm.weight         h   blk.%d.attn_k_norm.weight`

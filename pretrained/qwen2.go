package pretrained

import (
	"github.com/residua-go/residua/stream"
)

// qwen2 is Qwen2 and Qwen2.5 (Yang et al. 2024, arXiv 2407.10671): Llama with biases of queries,
// keys and values and, optionally, attention windows in some layers.
func qwen2() Architecture {
	a := qwen3()
	a.Type, a.Class, a.Read, a.Unused = "qwen2", "Qwen2ForCausalLM", readQwen2, []string{".rotary_emb.inv_freq"}
	a.Keys, a.Tensors = llamaSizes+windowKey, llamaTensors
	a.Defaults = `{"vocab_size": 151936, "max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-6}`
	return a
}

func readQwen2(m *Described, text []byte) error {
	m.Attention.Bias = stream.HeadBiasesQKV
	if err := readLayerWindows(m, text); err != nil {
		return err
	}
	return readLlama(m, text)
}

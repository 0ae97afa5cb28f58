package pretrained

import (
	"github.com/residua-go/residua/stream"
)

// olmo2 is OLMo 2 (arXiv 2501.00656): Llama whose norms come after sublayers, with norms over the
// row of all queries, and of all keys.
func olmo2() Architecture {
	a := llama()
	a.Type, a.Class, a.Read, a.Keys, a.Tensors, a.Unused = "olmo2", "Olmo2ForCausalLM", readOLMo2, llamaSizes+noBiases, olmo2Tensors, nil
	a.GGUF = &GGUFForm{}
	a.Defaults = `{"vocab_size": 50304, "max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
		"num_attention_heads": 32, "rms_norm_eps": 1e-5}`
	return a
}

func readOLMo2(m *Described, text []byte) error {
	m.Norms, m.Attention.QKNorm, m.Attention.QKNormOver = stream.NormsAfter, true, "row"
	return readLlama(m, text)
}

// olmo2Tensors is OLMo 2's table of tensors.
const olmo2Tensors = `embedding                       VD  embed_tokens.weight                          VD  token_embd.weight
norm                            D   norm.weight                                  D   output_norm.weight
unembedding                     DV  lm_head.weight                               VD  output.weight
blocks.%d.attention.qkv         DQ  layers.%d.self_attn.q_proj.weight            QD  blk.%d.attn_q.weight
blocks.%d.attention.qkv         DK  layers.%d.self_attn.k_proj.weight            KD  blk.%d.attn_k.weight
blocks.%d.attention.qkv         DW  layers.%d.self_attn.v_proj.weight            WD  blk.%d.attn_v.weight
blocks.%d.attention.q_norm      Q   layers.%d.self_attn.q_norm.weight            Q   blk.%d.attn_q_norm.weight
blocks.%d.attention.k_norm      K   layers.%d.self_attn.k_norm.weight            K   blk.%d.attn_k_norm.weight
blocks.%d.attention.o           QD  layers.%d.self_attn.o_proj.weight            DQ  blk.%d.attn_output.weight
blocks.%d.attention.post_norm   D   layers.%d.post_attention_layernorm.weight    D   blk.%d.post_attention_norm.weight
blocks.%d.feedforward.w1        DF  layers.%d.mlp.gate_proj.weight               FD  blk.%d.ffn_gate.weight
blocks.%d.feedforward.w3        DF  layers.%d.mlp.up_proj.weight                 FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w2        FD  layers.%d.mlp.down_proj.weight               DF  blk.%d.ffn_down.weight
blocks.%d.feedforward.post_norm D   layers.%d.post_feedforward_layernorm.weight  D   blk.%d.post_ffw_norm.weight
`

package pretrained

import (
	"cmp"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// llama is Llama (Touvron et al. 2023): a vector stream with RMSNorm, rotary positions, SwiGLU and
// grouped-query attention, without biases. Linear maps are [out, in]. Old files also hold the
// wavelengths of the positions.
func llama() Architecture {
	return Architecture{
		Type: "llama", Class: "LlamaForCausalLM", Stream: vectorStream(), GGUF: &GGUFForm{Neighbours: true},
		Keys: llamaKeys, Read: readLlama, Write: writeLlama,
		Defaults: `{"vocab_size": 32000, "max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
			"num_attention_heads": 32, "rms_norm_eps": 1e-6}`,
		Tensors: llamaTensors, Prefix: "model.", Head: "lm_head.weight", Unused: []string{".rotary_emb.inv_freq"},
	}
}

// llamaKeys is the table of config.json for Llama and the architectures based on it. The last rows
// only serve errors: addRope reads these keys.
const llamaKeys = llamaSizes + `attention_bias                                attention.bias
mlp_bias                                      feedforward_bias
`

// noBiases are the rows of classes without biases.
const noBiases = `attention_bias                                = false this class has no biases
mlp_bias                                      = false this class has no biases
`

// llamaSizes is llamaKeys without biases.
const llamaSizes = `vocab_size                           vocab
max_position_embeddings                       seq
hidden_size                                   stream.d_model
intermediate_size                             feedforward.hidden
num_hidden_layers                             layers
num_attention_heads                           attention.heads
num_key_value_heads                           attention.kv_heads
head_dim                                      attention.head_dim
rms_norm_eps                                  norm_eps
tie_word_embeddings                           tie_embeddings
hidden_act                                    = "silu" gated layers of other activations are not built
head_dim                                      attention.positions
rope_theta                                    attention.rope_base
rope_scaling.factor                           attention.rope_scaling.factor
rope_scaling.original_max_position_embeddings attention.rope_scaling.original_seq
rope_scaling.low_freq_factor                  attention.rope_scaling.low_freq_factor
rope_scaling.high_freq_factor                 attention.rope_scaling.high_freq_factor
rope_scaling.beta_fast                        attention.rope_scaling.beta_fast
rope_scaling.beta_slow                        attention.rope_scaling.beta_slow
rope_scaling.attention_factor                 attention.rope_scaling.attention_factor
`

func readLlama(m *Described, text []byte) error {
	readLlamaBlocks(m)
	if err := addRope(&m.Attention, text); err != nil {
		return err
	}
	if part := m.Attention.RopePart; part != 0 {
		return layers.Setting("partial_rotary_factor", "want 1, got %g: this class turns all of a head", part)
	}
	return nil
}

// readLlamaBlocks sets the stream, the feed-forward and the norm.
func readLlamaBlocks(m *Described) {
	m.Stream, m.FeedForward, m.Norm = models.Transformer(1, m.Width, 1, 1).Stream, layers.SwiGLUConfig{Hidden: m.Hidden}, models.NormRMS
	m.Attention.KVHeads = cmp.Or(m.Attention.KVHeads, m.Attention.Heads)
}

// writeLlama writes the rotary positions in two forms: that of transformers before version 5,
// and the present one.
func writeLlama(spec models.Spec) map[string]any {
	rope := ropeJSON(spec.Attention)
	config := map[string]any{"rope_theta": rope.Theta, "rope_parameters": rope}
	if spec.Attention.RopeScaling.Type != "" {
		rope.Theta = nil
		config["rope_scaling"] = rope
	}
	return config
}

// llamaTensors is Llama's table of tensors.
const llamaTensors = `embedding                  VD  embed_tokens.weight                       VD  token_embd.weight
norm                       D   norm.weight                               D   output_norm.weight
unembedding                DV  lm_head.weight                            VD  output.weight
blocks.%d.attention.norm   D   layers.%d.input_layernorm.weight          D   blk.%d.attn_norm.weight
blocks.%d.attention.qkv    DQ  layers.%d.self_attn.q_proj.weight         QD  blk.%d.attn_q.weight
blocks.%d.attention.qkv    DK  layers.%d.self_attn.k_proj.weight         KD  blk.%d.attn_k.weight
blocks.%d.attention.qkv    DW  layers.%d.self_attn.v_proj.weight         WD  blk.%d.attn_v.weight
blocks.%d.attention.o      QD  layers.%d.self_attn.o_proj.weight         DQ  blk.%d.attn_output.weight
blocks.%d.attention.qkv_bias Q  layers.%d.self_attn.q_proj.bias         Q  blk.%d.attn_q.bias
blocks.%d.attention.qkv_bias K  layers.%d.self_attn.k_proj.bias         K  blk.%d.attn_k.bias
blocks.%d.attention.qkv_bias W  layers.%d.self_attn.v_proj.bias         W  blk.%d.attn_v.bias
blocks.%d.attention.o_bias   D  layers.%d.self_attn.o_proj.bias         D  blk.%d.attn_output.bias
blocks.%d.feedforward.norm D   layers.%d.post_attention_layernorm.weight D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.w1   DF  layers.%d.mlp.gate_proj.weight            FD  blk.%d.ffn_gate.weight
blocks.%d.feedforward.w3   DF  layers.%d.mlp.up_proj.weight              FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w2   FD  layers.%d.mlp.down_proj.weight            DF  blk.%d.ffn_down.weight
blocks.%d.feedforward.w1_bias F layers.%d.mlp.gate_proj.bias             F  blk.%d.ffn_gate.bias
blocks.%d.feedforward.w3_bias F layers.%d.mlp.up_proj.bias               F  blk.%d.ffn_up.bias
blocks.%d.feedforward.w2_bias D layers.%d.mlp.down_proj.bias             D  blk.%d.ffn_down.bias
`

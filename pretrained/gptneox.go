package pretrained

import (
	"github.com/residua-go/residua/models"
)

// gptNeoX is GPT-NeoX and Pythia (Black et al. 2022, arXiv 2204.06745; Biderman et al. 2023): a
// vector stream with LayerNorm, biases and GELU whose blocks are parallel, with rotary positions of
// a part of each head. The rows of its map to q, k and v are in the order head, (q, k, v), entry.
func gptNeoX() Architecture {
	return Architecture{
		Type: "gpt_neox", Class: "GPTNeoXForCausalLM", Stream: vectorStream(), Keys: gptNeoXKeys, Read: readGPTNeoX, Write: writeGPTNeoX,
		Defaults: `{"vocab_size": 50432, "max_position_embeddings": 2048, "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 44,
			"num_attention_heads": 64, "layer_norm_eps": 1e-5, "hidden_act": "gelu", "use_parallel_residual": true}`,
		Tensors: gptNeoXTensors, Prefix: "gpt_neox.", Head: "embed_out.weight", VocabFiles: true,
		Unused: []string{".attention.bias", ".attention.masked_bias", ".attention.rotary_emb.inv_freq"},
		GGUF:   &GGUFForm{Name: "gptneox", Check: gptNeoXGGUF},
	}
}

// gptNeoXKeys is GPT-NeoX's table of config.json. The last rows only serve errors.
const gptNeoXKeys = `vocab_size             vocab
max_position_embeddings  seq
hidden_size              stream.d_model
intermediate_size        feedforward.hidden
num_hidden_layers        layers
num_attention_heads      attention.heads
layer_norm_eps           norm_eps
hidden_act               gelu
tie_word_embeddings      tie_embeddings
use_parallel_residual    parallel
attention_bias           ! true attention without biases next to maps with biases is not supported
rotary_pct               attention.rope_part
rope_theta               attention.rope_base
`

func readGPTNeoX(m *Described, text []byte) error {
	old := struct {
		Part *float64 `json:"rotary_pct"`
		Base *float64 `json:"rotary_emb_base"`
	}{}
	if err := unmarshal(text, &old); err != nil {
		return err
	}
	gelu, err := geluNamed("hidden_act", m.Gelu)
	if err != nil {
		return err
	}
	sized := models.Transformer(1, m.Width, m.Hidden, 1)
	m.Stream, m.FeedForward, m.Gelu, m.Bias = sized.Stream, sized.FeedForward, gelu, true
	base := 10000.0
	if old.Base != nil {
		base = *old.Base
	}
	m.Attention.RopePart = 0.25
	if old.Part != nil {
		m.Attention.RopePart = *old.Part
	}
	return addPartialRope(&m.Attention, text, base)
}

// addPartialRope is like addRopeFrom, with m.RopePart as the part of each head that has positions
// where the file does not say it.
func addPartialRope(m *models.Attention, text []byte, base float64) error {
	part := m.RopePart
	if err := addRopeFrom(m, text, base); err != nil {
		return err
	}
	var said struct {
		Parameters struct {
			Partial *float64 `json:"partial_rotary_factor"`
		} `json:"rope_parameters"`
		Partial *float64 `json:"partial_rotary_factor"`
	}
	if err := unmarshal(text, &said); err != nil {
		return err
	}
	if said.Partial == nil && said.Parameters.Partial == nil && part != 1 {
		m.RopePart = part
	}
	return nil
}

// writeGPTNeoX writes the keys of transformers before version 5, too.
func writeGPTNeoX(spec models.Spec) map[string]any {
	a := spec.Attention
	if a.RopePart == 0 {
		a.RopePart = 1
	}
	rope := ropeJSON(a)
	c := map[string]any{"rotary_pct": a.RopePart, "rotary_emb_base": rope.Theta, "rope_parameters": rope, "hidden_act": "gelu_new", "attention_bias": true}
	if spec.Gelu == models.GeluExact {
		c["hidden_act"] = "gelu"
	}
	return c
}

// gptNeoXTensors is GPT-NeoX's table of tensors.
const gptNeoXTensors = `embedding                       VD  embed_in.weight                              VD  token_embd.weight
norm                            D   final_layer_norm.weight                      D   output_norm.weight
norm_bias                       D   final_layer_norm.bias                        D   output_norm.bias
unembedding                     DV  embed_out.weight                             VD  output.weight
blocks.%d.attention.norm        D   layers.%d.input_layernorm.weight             D   blk.%d.attn_norm.weight
blocks.%d.attention.norm_bias   D   layers.%d.input_layernorm.bias               D   blk.%d.attn_norm.bias
blocks.%d.attention.qkv         D3Hh layers.%d.attention.query_key_value.weight  (H3h)D blk.%d.attn_qkv.weight
blocks.%d.attention.qkv_bias    3Hh layers.%d.attention.query_key_value.bias     (H3h) blk.%d.attn_qkv.bias
blocks.%d.attention.o           QD  layers.%d.attention.dense.weight             DQ  blk.%d.attn_output.weight
blocks.%d.attention.o_bias      D   layers.%d.attention.dense.bias               D   blk.%d.attn_output.bias
blocks.%d.feedforward.norm      D   layers.%d.post_attention_layernorm.weight    D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.norm_bias D   layers.%d.post_attention_layernorm.bias      D   blk.%d.ffn_norm.bias
blocks.%d.feedforward.w1        DF  layers.%d.mlp.dense_h_to_4h.weight           FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w1_bias   F   layers.%d.mlp.dense_h_to_4h.bias             F   blk.%d.ffn_up.bias
blocks.%d.feedforward.w2        FD  layers.%d.mlp.dense_4h_to_h.weight           DF  blk.%d.ffn_down.weight
blocks.%d.feedforward.w2_bias   D   layers.%d.mlp.dense_4h_to_h.bias             D   blk.%d.ffn_down.bias
`

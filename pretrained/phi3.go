package pretrained

import (
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// phi3 is Phi-3 and Phi-4 (arXiv 2404.14219): Llama whose files hold the maps to q, k and v as one
// tensor, and those to gate and value as one, with a window in all layers or none, rotary positions
// of a part of each head, and longrope.
func phi3() Architecture {
	a := mistral()
	a.Type, a.Class, a.Read, a.Write, a.Tensors = "phi3", "Phi3ForCausalLM", readPhi3, writePhi3, phi3Tensors
	a.Keys = llamaSizes + windowKey + "partial_rotary_factor attention.rope_part\n"
	a.Defaults = `{"vocab_size": 32064, "max_position_embeddings": 4096, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
		"num_attention_heads": 32, "rms_norm_eps": 1e-5, "sliding_window": null}`
	a.GGUF = &GGUFForm{}
	return a
}

// readPhi3 reads original_max_position_embeddings from where versions of transformers have written
// it: beside the other keys, too.
func readPhi3(m *Described, text []byte) error {
	var c struct {
		Original int  `json:"original_max_position_embeddings"`
		Window   *int `json:"sliding_window"`
	}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if c.Window != nil {
		m.Attention.Kind = layers.SlidingAttention{Window: *c.Window}
	}
	readLlamaBlocks(m)
	if err := addRope(&m.Attention, text); err != nil {
		return err
	}
	r := &m.Attention.RopeScaling
	if r.Type != layers.RopeLong {
		return nil
	}
	if r.OriginalSeq == 0 {
		r.OriginalSeq = c.Original
	}
	if r.Factor == 0 && r.OriginalSeq > 0 {
		r.Factor = float64(m.Seq) / float64(r.OriginalSeq)
	}
	return nil
}

func writePhi3(spec models.Spec) map[string]any {
	config := writeMistral(spec)
	config["original_max_position_embeddings"] = spec.Seq
	if s := spec.Attention.RopeScaling; s.Type == layers.RopeLong {
		config["original_max_position_embeddings"] = s.OriginalSeq
	}
	if part := spec.Attention.RopePart; part != 0 {
		config["partial_rotary_factor"] = part
	}
	return config
}

// phi3Tensors is Phi-3's table of tensors.
const phi3Tensors = `embedding                  VD  embed_tokens.weight                       VD  token_embd.weight
norm                       D   norm.weight                               D   output_norm.weight
unembedding                DV  lm_head.weight                            VD  output.weight
blocks.%d.attention.norm   D   layers.%d.input_layernorm.weight          D   blk.%d.attn_norm.weight
blocks.%d.attention.qkv    DA  layers.%d.self_attn.qkv_proj.weight       AD  blk.%d.attn_qkv.weight
blocks.%d.attention.o      QD  layers.%d.self_attn.o_proj.weight         DQ  blk.%d.attn_output.weight
blocks.%d.feedforward.norm D   layers.%d.post_attention_layernorm.weight D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.w1   DF  layers.%d.mlp.gate_up_proj.weight         FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w3   DF  layers.%d.mlp.gate_up_proj.weight         FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w2   FD  layers.%d.mlp.down_proj.weight            DF  blk.%d.ffn_down.weight
`

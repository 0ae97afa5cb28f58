package pretrained

import (
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// llama is Llama (Touvron et al. 2023): a vector stream with RMSNorm, rotary positions, SwiGLU and grouped-query
// attention, without biases. Linear maps are [out, in]. Old files hold the wavelengths of the positions.
func llama() architecture {
	return architecture{
		name: "llama", class: "LlamaForCausalLM", stream: vectorStream(), gguf: &ggufForm{eps: "attention.layer_norm_rms_epsilon", neighbours: true}, model: llamaModel, config: llamaJSON, keys: llamaKeys(), prefix: "model.", head: "lm_head.weight",
		unused: []string{".rotary_emb.inv_freq"}, tensors: llamaTensors,
	}
}

// llamaKeys are config.json's keys of Llama and of what descends from it.
func llamaKeys() map[string]string {
	return map[string]string{
		"vocab": "vocab_size", "seq": "max_position_embeddings", "layers": "num_hidden_layers", "stream.d_model": "hidden_size",
		"attention.heads": "num_attention_heads", "attention.kv_heads": "num_key_value_heads", "attention.head_dim": "head_dim",
		"attention.positions": "head_dim", "attention.rope_base": "rope_theta",
		"attention.rope_scaling.factor": "rope_scaling.factor", "attention.rope_scaling.original_seq": "rope_scaling.original_max_position_embeddings",
		"attention.rope_scaling.low_freq_factor": "rope_scaling.low_freq_factor", "attention.rope_scaling.high_freq_factor": "rope_scaling.high_freq_factor",
		"attention.rope_scaling.beta_fast": "rope_scaling.beta_fast", "attention.rope_scaling.beta_slow": "rope_scaling.beta_slow",
		"attention.rope_scaling.attention_factor": "rope_scaling.attention_factor",
		"feedforward.hidden":                      "intermediate_size", "norm_eps": "rms_norm_eps",
	}
}

// llamaConfig is what a config.json says that changes the model, over transformers' LlamaConfig, and what Qwen3Config
// has of it.
type llamaConfig struct {
	Vocab         int     `json:"vocab_size"`
	Seq           int     `json:"max_position_embeddings"`
	DModel        int     `json:"hidden_size"`
	FF            int     `json:"intermediate_size"`
	Layers        int     `json:"num_hidden_layers"`
	Heads         int     `json:"num_attention_heads"`
	KVHeads       *int    `json:"num_key_value_heads"` // null: as many as heads
	HeadDim       *int    `json:"head_dim"`            // null: hidden_size / num_attention_heads
	Activation    string  `json:"hidden_act"`
	Eps           float64 `json:"rms_norm_eps"`
	AttentionBias bool    `json:"attention_bias"`
	MLPBias       bool    `json:"mlp_bias"`
	Tied          bool    `json:"tie_word_embeddings"`
}

func llamaModel(text []byte) (models.Config, error) {
	c := llamaConfig{Vocab: 32000, Seq: 2048, DModel: 4096, FF: 11008, Layers: 32, Heads: 32, Activation: "silu", Eps: 1e-6}
	return c.read(text)
}

// llamaJSON is a model's config.json, with the positions as transformers has them before version 5 and from then on.
func llamaJSON(c models.Spec) map[string]any {
	rope := ropeJSON(c.Attention)
	all := map[string]any{"vocab_size": c.Vocab, "max_position_embeddings": c.Seq, "hidden_size": c.Width(), "intermediate_size": c.FeedForwardShape().Hidden,
		"num_hidden_layers": c.Layers, "num_attention_heads": c.HeadCount(), "num_key_value_heads": c.KVHeads(), "head_dim": c.HeadDim(),
		"hidden_act": "silu", "rms_norm_eps": c.NormEps, "attention_bias": false, "mlp_bias": false,
		"rope_theta": rope.Theta, "rope_parameters": rope}
	if c.Attention.RopeScaling.Type != "" {
		rope.Theta = nil
		all["rope_scaling"] = rope
	}
	return all
}

// read returns the model of a config.json, where c has the defaults of what that leaves out, or an error of the first
// thing that does not fit.
func (c llamaConfig) read(text []byte) (models.Config, error) {
	if err := unmarshal(text, &c); err != nil {
		return models.Config{}, err
	}
	if err := c.check(); err != nil {
		return models.Config{}, err
	}
	m := models.Transformer(c.Layers, c.DModel, c.FF, c.Heads)
	m.Attention = models.Attention{Heads: c.Heads, KVHeads: c.Heads}
	if err := addRope(&m.Attention, text); err != nil {
		return models.Config{}, err
	}
	m.FeedForward = layers.SwiGLUConfig{Hidden: c.FF}
	m.Vocab, m.Seq, m.Norm, m.NormEps, m.TieEmbeddings = c.Vocab, c.Seq, models.NormRMS, c.Eps, c.Tied
	if c.KVHeads != nil {
		m.Attention.KVHeads = *c.KVHeads
	}
	if c.HeadDim != nil {
		m.Attention.HeadDim = *c.HeadDim
	}
	return m, nil
}

// check refuses what no model here computes, and zeros, which would mean a default.
func (c llamaConfig) check() error {
	switch {
	case c.Activation != "silu":
		return layers.Setting("hidden_act", "want silu, got %q: gated layers of other activations are not built", c.Activation)
	case c.AttentionBias:
		return layers.Setting("attention_bias", "want false, got true: biases with rmsnorm are not built")
	case c.MLPBias:
		return layers.Setting("mlp_bias", "want false, got true: biases with rmsnorm are not built")
	case !(c.Eps > 0):
		return layers.Setting("rms_norm_eps", "want above 0, got %g", c.Eps)
	case c.KVHeads != nil && *c.KVHeads < 1:
		return layers.Setting("num_key_value_heads", "want >= 1, got %d", *c.KVHeads)
	case c.HeadDim != nil && *c.HeadDim < 1:
		return layers.Setting("head_dim", "want >= 1, got %d", *c.HeadDim)
	}
	return nil
}

// llamaTensors is Llama's table.
const llamaTensors = `embedding                  VD  embed_tokens.weight                       VD  token_embd.weight
norm                       D   norm.weight                               D   output_norm.weight
unembedding                DV  lm_head.weight                            VD  output.weight
blocks.%d.attention.norm   D   layers.%d.input_layernorm.weight          D   blk.%d.attn_norm.weight
blocks.%d.attention.qkv    DQ  layers.%d.self_attn.q_proj.weight         QD  blk.%d.attn_q.weight
blocks.%d.attention.qkv    DK  layers.%d.self_attn.k_proj.weight         KD  blk.%d.attn_k.weight
blocks.%d.attention.qkv    DW  layers.%d.self_attn.v_proj.weight         WD  blk.%d.attn_v.weight
blocks.%d.attention.o      QD  layers.%d.self_attn.o_proj.weight         DQ  blk.%d.attn_output.weight
blocks.%d.feedforward.norm D   layers.%d.post_attention_layernorm.weight D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.w1   DF  layers.%d.mlp.gate_proj.weight            FD  blk.%d.ffn_gate.weight
blocks.%d.feedforward.w3   DF  layers.%d.mlp.up_proj.weight              FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w2   FD  layers.%d.mlp.down_proj.weight            DF  blk.%d.ffn_down.weight
`

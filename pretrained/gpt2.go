package pretrained

import (
	"maps"
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// gpt2Vocab is the size of GPT-2's own vocabulary.
const gpt2Vocab = 50257

// gpt2 is GPT-2 (Radford et al. 2019): a vector stream with biases, learned positions and GELU. Linear maps are [in, out]
// with q|k|v side by side in both ("Conv1D"), so data stay as they are. Old files hold the masks of attention.
func gpt2() architecture {
	return architecture{
		name: "gpt2", class: "GPT2LMHeadModel", stream: vectorStream(), gguf: &ggufForm{eps: "attention.layer_norm_epsilon", check: gpt2GGUF}, model: gpt2Model, config: gpt2JSON, zeroBiases: true, prefix: "transformer.", head: "lm_head.weight",
		unused:  []string{".attn.bias", ".attn.masked_bias"},
		tensors: gpt2Tensors,
		keys: map[string]string{
			"vocab": "vocab_size", "seq": "n_positions", "layers": "n_layer", "stream.d_model": "n_embd", "attention.heads": "n_head",
			"feedforward.hidden": "n_inner", "norm_eps": "layer_norm_epsilon",
		},
	}
}

// gpt2Config is what a config.json says that changes the model, over transformers' GPT2Config. Dropout is a matter of
// training; reorder_and_upcast_attn is another order of the same sums.
type gpt2Config struct {
	Vocab          int     `json:"vocab_size"`
	Seq            int     `json:"n_positions"`
	DModel         int     `json:"n_embd"`
	Layers         int     `json:"n_layer"`
	Heads          int     `json:"n_head"`
	FF             *int    `json:"n_inner"` // null: 4 n_embd
	Activation     string  `json:"activation_function"`
	Eps            float64 `json:"layer_norm_epsilon"`
	ScaleAttention bool    `json:"scale_attn_weights"`
	InverseLayer   bool    `json:"scale_attn_by_inverse_layer_idx"`
	CrossAttention bool    `json:"add_cross_attention"`
	Tied           bool    `json:"tie_word_embeddings"`
}

func gpt2Model(text []byte) (models.Config, error) {
	c := gpt2Config{Vocab: gpt2Vocab, Seq: 1024, DModel: 768, Layers: 12, Heads: 12, Activation: "gelu_new", Eps: 1e-5, ScaleAttention: true, Tied: true}
	if err := unmarshal(text, &c); err != nil {
		return models.Config{}, err
	}
	if err := c.check(); err != nil {
		return models.Config{}, err
	}
	hidden := 4 * c.DModel
	if c.FF != nil {
		hidden = *c.FF
	}
	m := models.Transformer(c.Layers, c.DModel, hidden, c.Heads)
	m.Vocab, m.Seq, m.NormEps, m.Gelu, m.Bias, m.TieEmbeddings = c.Vocab, c.Seq, c.Eps, gelus()[c.Activation], true, c.Tied
	m.Attention.InverseLayerScaling = c.InverseLayer
	return m, nil
}

// vectorStream is the kind of a plain transformer's stream.
func vectorStream() string { return models.Transformer(1, 1, 1, 1).Stream.Name() }

// gpt2JSON is a model's config.json.
func gpt2JSON(c models.Spec) map[string]any {
	activation := "gelu_new"
	if c.Gelu == models.GeluExact {
		activation = "gelu"
	}
	m := map[string]any{"vocab_size": c.Vocab, "n_positions": c.Seq, "n_embd": c.Width(), "n_layer": c.Layers, "n_head": c.HeadCount(),
		"n_inner": c.FeedForwardShape().Hidden, "activation_function": activation, "layer_norm_epsilon": c.NormEps,
		"scale_attn_by_inverse_layer_idx": c.Attention.InverseLayerScaling, "attn_pdrop": c.Dropout, "embd_pdrop": c.Dropout, "resid_pdrop": c.Dropout}
	if c.Attention.InverseLayerScaling {
		// transformers' other attention, its default, leaves these factors out (4.48 to 4.57 at least).
		m["attn_implementation"], m["_attn_implementation"] = "eager", "eager"
	}
	return m
}

// check refuses what no model here computes.
func (c gpt2Config) check() error {
	_, known := gelus()[c.Activation]
	switch {
	case !known:
		return layers.Setting("activation_function", "want one of %v, got %q: it is not built", slices.Sorted(maps.Keys(gelus())), c.Activation)
	case !c.ScaleAttention:
		return layers.Setting("scale_attn_weights", "want true, got false: attention without 1/sqrt(head dimension) is not built")
	case c.CrossAttention:
		return layers.Setting("add_cross_attention", "want false, got true: attention to an encoder is not built")
	case !(c.Eps > 0):
		return layers.Setting("layer_norm_epsilon", "want above 0, got %g", c.Eps)
	}
	return nil
}

// gelus gives transformers' names of the two forms of GELU.
func gelus() map[string]string {
	return map[string]string{
		"gelu_new": models.GeluTanh, "gelu_fast": models.GeluTanh, "gelu_pytorch_tanh": models.GeluTanh,
		"gelu": models.GeluExact, "gelu_python": models.GeluExact,
	}
}

// gpt2Tensors is GPT-2's table.
const gpt2Tensors = `embedding                       VD  wte.weight                 VD  token_embd.weight
positions                       TD  wpe.weight                 TD  position_embd.weight
norm                            D   ln_f.weight                D   output_norm.weight
norm_bias                       D   ln_f.bias                  D   output_norm.bias
unembedding                     DV  lm_head.weight             VD  output.weight
blocks.%d.attention.norm        D   h.%d.ln_1.weight           D   blk.%d.attn_norm.weight
blocks.%d.attention.norm_bias   D   h.%d.ln_1.bias             D   blk.%d.attn_norm.bias
blocks.%d.attention.qkv         DA  h.%d.attn.c_attn.weight    DA  blk.%d.attn_qkv.weight
blocks.%d.attention.qkv_bias    A   h.%d.attn.c_attn.bias      A   blk.%d.attn_qkv.bias
blocks.%d.attention.o           QD  h.%d.attn.c_proj.weight    QD  blk.%d.attn_output.weight
blocks.%d.attention.o_bias      D   h.%d.attn.c_proj.bias      D   blk.%d.attn_output.bias
blocks.%d.feedforward.norm      D   h.%d.ln_2.weight           D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.norm_bias D   h.%d.ln_2.bias             D   blk.%d.ffn_norm.bias
blocks.%d.feedforward.w1        DF  h.%d.mlp.c_fc.weight       DF  blk.%d.ffn_up.weight
blocks.%d.feedforward.w1_bias   F   h.%d.mlp.c_fc.bias         F   blk.%d.ffn_up.bias
blocks.%d.feedforward.w2        FD  h.%d.mlp.c_proj.weight     FD  blk.%d.ffn_down.weight
blocks.%d.feedforward.w2_bias   D   h.%d.mlp.c_proj.bias       D   blk.%d.ffn_down.bias`

package pretrained

import (
	"cmp"
	"maps"
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// gpt2Vocab is the size of GPT-2's own vocabulary.
const gpt2Vocab = 50257

// gpt2 is GPT-2 (Radford et al. 2019): a vector stream with biases, learned positions and GELU.
// Linear maps are [in, out] with q|k|v side by side in its files ("Conv1D") and in ours, so their
// data is not reordered. Old files also hold the masks of attention.
func gpt2() Architecture {
	return Architecture{
		Type: "gpt2", Class: "GPT2LMHeadModel", Stream: vectorStream(), GGUF: &GGUFForm{Check: gpt2GGUF},
		Keys: gpt2Keys, Read: readGPT2, Write: writeGPT2,
		Defaults: `{"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "activation_function": "gelu_new",
			"layer_norm_epsilon": 1e-5, "tie_word_embeddings": true}`,
		Tensors: gpt2Tensors, ZeroBiases: true, VocabFiles: true, Tokenizers: map[int]string{gpt2Vocab: "gpt2"}, Prefix: "transformer.",
		Head: "lm_head.weight", Unused: []string{".attn.bias", ".attn.masked_bias"},
	}
}

// gpt2Keys is GPT-2's table of config.json. The keys of dropout only matter for training;
// reorder_and_upcast_attn only changes the order of sums.
const gpt2Keys = `vocab_size                vocab
n_positions                     seq
n_embd                          stream.d_model
n_layer                         layers
n_head                          attention.heads
n_inner                         feedforward.hidden
activation_function             gelu
layer_norm_epsilon              norm_eps
scale_attn_by_inverse_layer_idx attention.inverse_layer_scaling
tie_word_embeddings             tie_embeddings
scale_attn_weights              ! true  attention without 1/sqrt(head dimension) is not supported
add_cross_attention             ! false attention to an encoder is not supported`

func readGPT2(m *Described, _ []byte) error {
	gelu, err := geluNamed("activation_function", m.Gelu)
	if err != nil {
		return err
	}
	sized := models.Transformer(m.Layers, m.Width, cmp.Or(m.Hidden, 4*m.Width), m.Attention.Heads)
	m.Stream, m.FeedForward, m.Gelu, m.Bias = sized.Stream, sized.FeedForward, gelu, true
	return nil
}

// vectorStream returns the kind of a plain transformer's stream.
func vectorStream() string { return models.Transformer(1, 1, 1, 1).Stream.Name() }

func writeGPT2(spec models.Spec) map[string]any {
	config := map[string]any{"activation_function": "gelu_new", "attn_pdrop": spec.Dropout, "embd_pdrop": spec.Dropout, "resid_pdrop": spec.Dropout}
	if spec.Gelu == models.GeluExact {
		config["activation_function"] = "gelu"
	}
	if spec.Attention.InverseLayerScaling {
		// transformers' default attention ignores these factors (in versions 4.48 to 4.57 at
		// least).
		config["attn_implementation"], config["_attn_implementation"] = "eager", "eager"
	}
	return config
}

// gelus maps transformers' names to the two forms of GELU.
func gelus() map[string]string {
	return map[string]string{
		"gelu_new": models.GeluTanh, "gelu_fast": models.GeluTanh, "gelu_pytorch_tanh": models.GeluTanh,
		"gelu": models.GeluExact, "gelu_python": models.GeluExact,
	}
}

// geluNamed returns the form of GELU that a class calls by a name.
func geluNamed(key, name string) (string, error) {
	gelu, known := gelus()[name]
	if !known {
		return "", layers.Setting(key, "want one of %v, got %q: it is not supported", slices.Sorted(maps.Keys(gelus())), name)
	}
	return gelu, nil
}

// gpt2Tensors is GPT-2's table of tensors.
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

package pretrained

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// gemma2 is Gemma 2 (arXiv 2408.00118): RMSNorms before and after sublayers, whose gains files hold
// less 1, SwiGLU with a gate of GELU, an embedding times sqrt(d_model), soft caps, and attention
// windows in every second layer.
func gemma2() Architecture {
	return Architecture{
		Type: "gemma2", Class: "Gemma2ForCausalLM", Stream: vectorStream(), Keys: gemmaKeys, Read: readGemma2, Write: writeGemma,
		Defaults: `{"vocab_size": 256000, "max_position_embeddings": 8192, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
			"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
			"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": true,
			"query_pre_attn_scalar": 256, "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0}`,
		Tensors: gemmaTensors, Prefix: "model.", Head: "lm_head.weight", GainsLess1: true, Unused: []string{".rotary_emb.inv_freq"},
		GGUF: &GGUFForm{Windows: true, Check: gemmaGGUF("gemma2", "second", 2)},
	}
}

// gemma3 is the text model of Gemma 3 (arXiv 2503.19786): Gemma 2 with QK-norm instead of soft
// caps, windows in five layers of six, and other rotary positions there.
func gemma3() Architecture {
	a := gemma2()
	a.Type, a.Class, a.Read, a.Write = "gemma3_text", "Gemma3ForCausalLM", readGemma3, writeGemma3
	a.Defaults = `{"vocab_size": 262208, "max_position_embeddings": 131072, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
		"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
		"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": true, "query_pre_attn_scalar": 256}`
	a.Tensors += qwen3Norms
	a.GGUF = &GGUFForm{Name: "gemma3", Windows: true, Check: gemmaGGUF("gemma3", "sixth", 6)}
	return a
}

// gemmaKeys is Gemma's table of config.json.
const gemmaKeys = `vocab_size               vocab
max_position_embeddings      seq
hidden_size                  stream.d_model
intermediate_size            feedforward.hidden
num_hidden_layers            layers
num_attention_heads          attention.heads
num_key_value_heads          attention.kv_heads
head_dim                     attention.head_dim
rms_norm_eps                 norm_eps
tie_word_embeddings          tie_embeddings
hidden_activation            gelu
attn_logit_softcapping       attention.softcap
final_logit_softcapping      logit_softcap
attention_bias               = false this class's biases are not supported
use_bidirectional_attention  ! false attention to later tokens is not a language model's
` + windowKey

// readGemma reads what both classes have.
func readGemma(m *Described, text []byte, slides func(c windowKeys, layer int) bool) error {
	c := struct {
		Query float64 `json:"query_pre_attn_scalar"`
	}{256}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if !(c.Query > 0) {
		return layers.Setting("query_pre_attn_scalar", "want above 0, got %g", c.Query)
	}
	gelu, err := geluNamed("hidden_activation", m.Gelu)
	if err != nil {
		return err
	}
	m.Stream, m.FeedForward, m.Gelu = models.Transformer(1, m.Width, 1, 1).Stream, layers.SwiGLUConfig{Hidden: m.Hidden, Gate: layers.GateGELU}, gelu
	m.Norm, m.Norms, m.EmbeddingScale, m.Attention.Scale = models.NormRMS, stream.NormsBoth, rootOf(m.Width), 1/math.Sqrt(c.Query)
	return readWindows(m, text, windowKeys{UseWindow: true, Pattern: 6}, slides)
}

// rootOf returns the factor of Gemma's embedding, sqrt(width) in float32.
func rootOf(width int) float64 { return float64(float32(math.Sqrt(float64(width)))) }

func readGemma2(m *Described, text []byte) error {
	if err := readGemma(m, text, func(_ windowKeys, l int) bool { return l%2 == 0 }); err != nil {
		return err
	}
	return addRope(&m.Attention, text)
}

// readGemma3 reads rope_parameters of both kinds of layers, or the keys of transformers before
// version 5: rope_theta, rope_scaling and rope_local_base_freq.
func readGemma3(m *Described, text []byte) error {
	m.Attention.QKNorm = true
	err := readGemma(m, text, func(c windowKeys, l int) bool { return (l+1)%max(1, c.Pattern, c.OldPattern) != 0 })
	if err != nil {
		return err
	}
	var c struct {
		Local float64 `json:"rope_local_base_freq"`
		Rope  struct {
			Full    json.RawMessage `json:"full_attention"`
			Sliding json.RawMessage `json:"sliding_attention"`
		} `json:"rope_parameters"`
	}
	c.Local = 10000
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	local := models.Attention{RopeBase: c.Local}
	if c.Rope.Sliding != nil {
		err = addRopeFrom(&local, ropeAlone(c.Rope.Sliding), c.Local)
	}
	if err == nil && !local.RopeScaling.IsZero() {
		err = layers.Setting("rope_parameters.sliding_attention.rope_type", "want %s, got %s", ropeDefault, local.RopeScaling.Type)
	}
	if err != nil {
		return err
	}
	full := text
	if c.Rope.Full != nil {
		full = ropeAlone(c.Rope.Full)
	}
	if s, ok := m.Attention.Kind.(layers.SlidingAttention); ok {
		s.RopeBase = local.RopeBase
		m.Attention.Kind = s
	}
	return addRopeFrom(&m.Attention, full, 1e6)
}

// ropeAlone returns a config.json with these rope_parameters alone.
func ropeAlone(parameters json.RawMessage) []byte {
	return append(append([]byte(`{"rope_parameters": `), parameters...), '}')
}

// writeGemma writes what readGemma2 reads.
func writeGemma(spec models.Spec) map[string]any {
	c := map[string]any{"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": inverse(math.Sqrt, spec.Scales().Attention),
		"sliding_window": defaultWindow, "layer_types": layerTypes(spec.Attention.Kind, spec.Layers),
		"attn_logit_softcapping": orNull(spec.Attention.Softcap), "final_logit_softcapping": orNull(spec.LogitSoftcap)}
	if spec.Gelu == models.GeluExact {
		c["hidden_activation"] = "gelu"
	}
	if s, ok := spec.Attention.Kind.(layers.SlidingAttention); ok {
		c["sliding_window"] = s.Window
	}
	rope := ropeJSON(spec.Attention)
	maps.Copy(c, map[string]any{"rope_theta": rope.Theta, "rope_parameters": rope})
	return c
}

// writeGemma3 writes the rotary positions of both kinds of layers.
func writeGemma3(spec models.Spec) map[string]any {
	c := writeGemma(spec)
	local := spec.Attention
	local.RopeScaling, local.RopeBase = layers.RopeScaling{}, 10000
	if s, ok := spec.Attention.Kind.(layers.SlidingAttention); ok {
		local.RopeBase = s.RopeBase
	}
	c["rope_local_base_freq"] = local.RopeBase
	c["rope_parameters"] = map[string]any{fullLayer: ropeJSON(spec.Attention), slidingLayer: ropeJSON(local)}
	if spec.Attention.RopeScaling.Type != "" {
		c["rope_scaling"] = ropeJSON(spec.Attention)
	}
	return c
}

// orNull returns a number as JSON with a decimal point, which transformers wants, or null for 0.
func orNull(x float64) json.RawMessage {
	if x == 0 {
		return json.RawMessage("null")
	}
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}

// gemmaTensors is Gemma's table of tensors.
const gemmaTensors = `embedding                       VD  embed_tokens.weight                          VD  token_embd.weight
norm                            D   norm.weight                                  D   output_norm.weight
unembedding                     DV  lm_head.weight                               VD  output.weight
blocks.%d.attention.norm        D   layers.%d.input_layernorm.weight             D   blk.%d.attn_norm.weight
blocks.%d.attention.qkv         DQ  layers.%d.self_attn.q_proj.weight            QD  blk.%d.attn_q.weight
blocks.%d.attention.qkv         DK  layers.%d.self_attn.k_proj.weight            KD  blk.%d.attn_k.weight
blocks.%d.attention.qkv         DW  layers.%d.self_attn.v_proj.weight            WD  blk.%d.attn_v.weight
blocks.%d.attention.o           QD  layers.%d.self_attn.o_proj.weight            DQ  blk.%d.attn_output.weight
blocks.%d.attention.post_norm   D   layers.%d.post_attention_layernorm.weight    D   blk.%d.post_attention_norm.weight
blocks.%d.feedforward.norm      D   layers.%d.pre_feedforward_layernorm.weight   D   blk.%d.ffn_norm.weight
blocks.%d.feedforward.w1        DF  layers.%d.mlp.gate_proj.weight               FD  blk.%d.ffn_gate.weight
blocks.%d.feedforward.w3        DF  layers.%d.mlp.up_proj.weight                 FD  blk.%d.ffn_up.weight
blocks.%d.feedforward.w2        FD  layers.%d.mlp.down_proj.weight               DF  blk.%d.ffn_down.weight
blocks.%d.feedforward.post_norm D   layers.%d.post_feedforward_layernorm.weight  D   blk.%d.post_ffw_norm.weight
`

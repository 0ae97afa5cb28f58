package pretrained

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// openHuggingFace reads a folder as Hugging Face's transformers saves a GPT-2 (Radford et al. 2019): its config.json
// and model.safetensors become a vector stream with biases, learned positions and a tied unembedding. Tensors are F32.
// The tokenizer is gpt2 where the vocabulary has its size, otherwise none, with a warning: the folder's own is not read.
func openHuggingFace(zoo models.Zoo, source checkpoint.Source) (*Model, error) {
	configPath := filepath.Join(filepath.Dir(source.ModelPath), checkpoint.HuggingFaceConfig)
	text, err := data.ReadFile(configPath, maxHuggingFaceConfig)
	if err != nil {
		return nil, err
	}
	c, err := parseHuggingFace(text)
	if err != nil {
		return nil, errors.Wrap(err, configPath)
	}
	file, err := checkpoint.ReadTensors(source.ModelPath)
	if err != nil {
		return nil, err
	}
	m := &Model{Source: source, Zoo: zoo}
	m.Spec, m.Data = c, config.Data{Tokenizer: tokenizerOf(c), TextField: config.Defaults().Data.TextField}
	tensors, err := fromGPT2(file.Tensors, c)
	if err != nil {
		return nil, errors.Wrap(err, source.ModelPath)
	}
	if m.Store, err = serve(c, tensors); err != nil {
		return nil, errors.Wrap(err, source.ModelPath)
	}
	if m.Data.Tokenizer == "" {
		m.Source.Warnings = append(m.Source.Warnings, fmt.Sprintf("%s: no tokenizer here has its vocabulary of %d ids (gpt2 has %d): text cannot be encoded, want token ids as prompt", configPath, c.Vocab, gpt2Vocab))
	}
	return m, nil
}

// gpt2Vocab is the size of GPT-2's own vocabulary.
const gpt2Vocab = 50257

func tokenizerOf(c models.Spec) string {
	if c.Vocab == gpt2Vocab {
		return "gpt2"
	}
	return ""
}

// gpt2Config is what a config.json says that changes the model; what it leaves out has the value of
// transformers' GPT2Config. Dropout is a matter of training; reorder_and_upcast_attn is another order of the same sums.
type gpt2Config struct {
	Type           string  `json:"model_type"`
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

// maxHuggingFaceConfig bounds a config.json, which has a thousand bytes or two.
const maxHuggingFaceConfig = 1 << 20

func parseHuggingFace(text []byte) (models.Spec, error) {
	c := gpt2Config{Vocab: gpt2Vocab, Seq: 1024, DModel: 768, Layers: 12, Heads: 12, Activation: "gelu_new", Eps: 1e-5, ScaleAttention: true, Tied: true}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(text, &c); errors.As(err, &wrong) && wrong.Field != "" {
		return models.Spec{}, layers.Setting(wrong.Field, "want %s, got %s", wrong.Type, wrong.Value)
	} else if err != nil {
		return models.Spec{}, errors.Wrap(err, "want a JSON object")
	}
	if err := c.check(); err != nil {
		return models.Spec{}, err
	}
	return c.model().Resolve()
}

// check refuses what no model here computes.
func (c gpt2Config) check() error {
	_, known := gelus()[c.Activation]
	switch {
	case c.Type != "gpt2":
		return layers.Setting("model_type", "want gpt2, got %q: other models are not read", c.Type)
	case !known:
		return layers.Setting("activation_function", "want one of %v, got %q: it is not built", slices.Sorted(maps.Keys(gelus())), c.Activation)
	case !c.ScaleAttention:
		return layers.Setting("scale_attn_weights", "want true, got false: attention without 1/sqrt(head dimension) is not built")
	case c.CrossAttention:
		return layers.Setting("add_cross_attention", "want false, got true: attention to an encoder is not built")
	case !c.Tied:
		return layers.Setting("tie_word_embeddings", "want true, got false: an unembedding apart is not read")
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

func (c gpt2Config) model() models.Config {
	hidden := 4 * c.DModel
	if c.FF != nil {
		hidden = *c.FF
	}
	m := models.Transformer(c.Layers, c.DModel, hidden, c.Heads)
	m.Vocab, m.Seq, m.NormEps, m.Gelu, m.Bias, m.TieEmbeddings = c.Vocab, c.Seq, c.Eps, gelus()[c.Activation], true, true
	m.Attention.InverseLayerScaling = c.InverseLayer
	return m
}

// fromGPT2 returns the tensors of a GPT-2 under our names. Linear maps are [in, out] with q|k|v side by side in both
// ("Conv1D"), so data stay as they are. Every tensor of the model must be there in its shape; nothing else may be but
// the masks of attention, which old files hold, and an lm_head that equals the embedding.
func fromGPT2(tensors []checkpoint.Tensor, c models.Spec) ([]checkpoint.Tensor, error) {
	given, err := withoutPrefix(tensors)
	if err != nil {
		return nil, err
	}
	out, err := take(nil, given, gpt2Ends(c))
	for l := 0; l < c.Layers && err == nil; l++ {
		out, err = take(out, given, gpt2Block(c, l))
	}
	if err != nil {
		return nil, err
	}
	if head, ok := given[gpt2Head]; ok {
		if err := checkTied(head, out[0]); err != nil {
			return nil, err
		}
		delete(given, gpt2Head)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, tensorErrorf(name, "a GPT-2 of %d layers with a language model's head has none of that name", c.Layers)
	}
	return out, nil
}

const (
	gpt2Prefix = "transformer." // of all tensors but the head, in files of GPT2LMHeadModel; GPT2Model's have none
	gpt2Head   = "lm_head.weight"
)

// withoutPrefix returns the tensors by name, without prefix and without the masks of attention.
func withoutPrefix(tensors []checkpoint.Tensor) (map[string]checkpoint.Tensor, error) {
	given := map[string]checkpoint.Tensor{}
	for _, t := range tensors {
		name := strings.TrimPrefix(t.Name, gpt2Prefix)
		if strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias") {
			continue
		}
		if _, twice := given[name]; twice {
			return nil, tensorErrorf(name, "want it with or without the prefix %q, got both", gpt2Prefix)
		}
		given[name] = t
	}
	return given, nil
}

// imported is one tensor of a GPT-2 and its place in ours.
type imported struct {
	theirs, ours string
	shape        []int
}

// gpt2Ends are the tensors outside blocks, the embedding first.
func gpt2Ends(c models.Spec) []imported {
	return []imported{
		{"wte.weight", "embedding", []int{c.Vocab, c.Width()}},
		{"wpe.weight", "positions", []int{c.Seq, c.Width()}},
		{"ln_f.weight", "norm", []int{c.Width()}},
		{"ln_f.bias", "norm_bias", []int{c.Width()}},
	}
}

// gpt2Block are the tensors of block l.
func gpt2Block(c models.Spec, l int) []imported {
	d, hidden := c.Width(), c.FeedForwardShape().Hidden
	h, a, f := fmt.Sprintf("h.%d.", l), fmt.Sprintf("blocks.%d.attention.", l), fmt.Sprintf("blocks.%d.feedforward.", l)
	return []imported{
		{h + "ln_1.weight", a + "norm", []int{d}},
		{h + "ln_1.bias", a + "norm_bias", []int{d}},
		{h + "attn.c_attn.weight", a + "qkv", []int{d, 3 * d}},
		{h + "attn.c_attn.bias", a + "qkv_bias", []int{3 * d}},
		{h + "attn.c_proj.weight", a + "o", []int{d, d}},
		{h + "attn.c_proj.bias", a + "o_bias", []int{d}},
		{h + "ln_2.weight", f + "norm", []int{d}},
		{h + "ln_2.bias", f + "norm_bias", []int{d}},
		{h + "mlp.c_fc.weight", f + "w1", []int{d, hidden}},
		{h + "mlp.c_fc.bias", f + "w1_bias", []int{hidden}},
		{h + "mlp.c_proj.weight", f + "w2", []int{hidden, d}},
		{h + "mlp.c_proj.bias", f + "w2_bias", []int{d}},
	}
}

// take moves the wanted tensors from given to the end of out, under our names.
func take(out []checkpoint.Tensor, given map[string]checkpoint.Tensor, wanted []imported) ([]checkpoint.Tensor, error) {
	for _, w := range wanted {
		t, ok := given[w.theirs]
		if !ok {
			return nil, tensorErrorf(w.theirs, "want it for the model of %s, the file has none", checkpoint.HuggingFaceConfig)
		}
		if !slices.Equal(t.Shape, w.shape) {
			return nil, tensorErrorf(t.Name, "want shape %v for the model of %s, got %v", w.shape, checkpoint.HuggingFaceConfig, t.Shape)
		}
		if _, err := t.Float32s(); err != nil {
			return nil, tensorErrorf(t.Name, "want F32 elements, got %s: convert the model to float32", t.DType())
		}
		delete(given, w.theirs)
		out = append(out, checkpoint.Tensor{Name: w.ours, Shape: w.shape, Data: t.Data})
	}
	return out, nil
}

// checkTied wants a head that is the embedding itself, as GPT-2's is.
func checkTied(head, embedding checkpoint.Tensor) error {
	if !slices.Equal(head.Shape, embedding.Shape) {
		return tensorErrorf(head.Name, "want shape %v, the embedding's, got %v", embedding.Shape, head.Shape)
	}
	a, err := head.Float32s()
	if err != nil {
		return err
	}
	b, err := embedding.Float32s()
	if err == nil && !slices.Equal(a, b) {
		err = tensorErrorf(head.Name, "want the embedding, to which it is tied, got other values: an unembedding apart is not read")
	}
	return err
}

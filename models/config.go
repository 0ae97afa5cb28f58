// Package models puts streams and blocks together: a Config describes a language model in
// sections, Resolve makes a checked Spec of it, New builds a Spec's symbolic Gorgonia graph, a
// Zoo lists designs and presets, and Cost says in closed form what a model takes.
package models

import (
	"fmt"
	"reflect"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// The values of Config's named choices.
const (
	NormLayer = "layernorm"
	NormRMS   = "rmsnorm"

	PositionsLearned = "learned"
	PositionsALiBi   = "alibi"
	PositionsRoPE    = "rope"
	PositionsNone    = "none"

	ValuesFixed   = "fixed"
	ValuesLearned = "learned"

	GeluTanh  = "tanh"
	GeluExact = "exact"

	InitPaper = "paper" // N(0, 0.02^2/fan_in), the RMT authors' code
	InitLeCun = "lecun" // N(0, 1/fan_in); embeddings by EmbeddingStd, the unembedding at 0
	// InitLeCunAll is N(0, 1/fan_in) of all weights, tables and unembedding included, as appendix
	// C.4 of the paper has it for Table 10. A table's fan-in is its number of rows: it multiplies
	// one-hot vectors.
	InitLeCunAll = "lecun-all"
)

// Config describes a language model. A zero field takes the default that Resolve names. The tags
// hold the keys, defaults and help of a run config's model section; package runconfig reads them.
type Config struct {
	// Preset is the name of the preset that the config started from. It is only a record.
	Preset string `yaml:"preset" json:"preset,omitempty" help:"start from the preset of that name, which other keys override (the command models lists them)"`
	Layers int    `yaml:"layers" json:"layers" default:"required, or preset" max:"4096" help:"number of blocks"`
	Vocab  int    `yaml:"vocab" json:"vocab" default:"the tokenizer's" from:"data.tokenizer" max:"1048576" help:"number of token ids"`
	Seq    int    `yaml:"seq" json:"seq" default:"required, or preset" max:"1048576" help:"tokens of a row in training, and rows of learned positions"`

	// Tokens pass blocks LoopBegin to LoopEnd-1 Loops times, with the same parameters each time.
	Loops     int `yaml:"loops" json:"loops,omitempty" default:"1" added:"0" max:"4096"`
	LoopBegin int `yaml:"loop_begin" json:"loop_begin,omitempty" added:"0" max:"4096" help:"first block, from 0, that tokens pass several times"`
	LoopEnd   int `yaml:"loop_end" json:"loop_end,omitempty" default:"layers" from:"model.layers" added:"0" max:"4096" help:"block after the last one of the loop"`

	Stream    stream.Design `yaml:"stream" json:"stream" help:"the residual stream"`
	Attention Attention     `yaml:"attention" json:"attention" help:"the attention of each block"`
	// FeedForward is nil for a stream whose blocks have none.
	FeedForward layers.FeedForwardDesign `yaml:"feedforward" json:"feedforward,omitempty" help:"the feed-forward of each block"`

	// Writes is nil if what sublayers write enters the stream unchanged.
	Writes stream.WritesDesign `yaml:"writes" json:"writes,omitempty" default:"none" added:"none" help:"what is done to what sublayers write"`

	Norm          string  `yaml:"norm" json:"norm" help:"layernorm or rmsnorm"`
	NormEps       float64 `yaml:"norm_eps" json:"norm_eps" help:"epsilon of the norm"`
	Gelu          string  `yaml:"gelu" json:"gelu" help:"tanh or exact"`
	Bias          bool    `yaml:"bias" json:"bias" help:"biases in norms and linear maps"`
	TieEmbeddings bool    `yaml:"tie_embeddings" json:"tie_embeddings" help:"the unembedding is the embedding, transposed"`
	Dropout       float64 `yaml:"dropout" json:"dropout" help:"dropout rate of what is written to the stream"`
	Norms         string  `yaml:"norms" json:"norms,omitempty" default:"before" added:"\"\"" help:"where a sublayer's norm is: before it, on what it adds, both"`
	Parallel      bool    `yaml:"parallel" json:"parallel,omitempty" added:"false" help:"a block's feed-forward reads the stream from before its attention"`
	FFBias        bool    `yaml:"feedforward_bias" json:"feedforward_bias,omitempty" added:"false" help:"biases in feed-forwards, also without bias"`

	EmbeddingScale float64 `yaml:"embedding_scale" json:"embedding_scale,omitempty" added:"0" help:"multiplies the embedding where tokens are looked up; 0: 1"`
	ResidualScale  float64 `yaml:"residual_scale" json:"residual_scale,omitempty" added:"0" help:"multiplies what each sublayer adds to the stream; 0: 1"`
	LogitScale     float64 `yaml:"logit_scale" json:"logit_scale,omitempty" added:"0" help:"multiplies the logits, before logit_softcap; 0: 1"`
	LogitSoftcap   float64 `yaml:"logit_softcap" json:"logit_softcap,omitempty" help:"c of logits c tanh(logit / c), after muP's factor; 0: not capped"`

	Init         string  `yaml:"init" json:"init"`
	InitStd      float64 `yaml:"init_std" json:"init_std,omitempty" default:"0.02 with init paper" from:"model.init" help:"with paper: the deviation's numerator"`
	EmbeddingStd float64 `yaml:"embedding_std" json:"embedding_std" help:"standard deviation of the initial embedding; nothing with init lecun-all"`

	MuP *MuP `yaml:"mup" json:"mup,omitempty" help:"maximal update parametrisation; null: the standard one"`

	// MaskDocuments, BOS and Separator come from a run's data section: attention stays inside a
	// document, which begins at BOS. If there is an id Separator (0: none), tokens after it see the
	// separator and nothing before it.
	MaskDocuments bool `yaml:"-" json:"mask_documents"`
	BOS           int  `yaml:"-" json:"bos,omitempty"`
	Separator     int  `yaml:"-" json:"separator,omitempty"`
}

// Help returns the help texts that are too long for tags, by key.
func (Config) Help() map[string]string {
	return map[string]string{
		"loops": "how many times tokens pass the blocks from loop_begin to loop_end, with the same weights each time",
		"init": "initial weights: paper, N(0, init_std^2 / fan_in); lecun, N(0, 1 / fan_in); or lecun-all, that of embeddings (a " +
			"table's fan-in is its rows) and unembedding, too",
	}
}

// Attention describes the attention of each block: its kind, and the settings of all kinds. A
// matrix stream sets its heads itself.
type Attention struct {
	// Kind is nil for softmax attention.
	Kind layers.AttentionDesign `yaml:"kind" json:"-" default:"softmax" added:"softmax" help:"the attention"`

	Heads     int     `yaml:"heads" json:"heads,omitempty" default:"required, or preset, but with a matrix stream" max:"131072" help:"number of heads"`
	HeadDim   int     `yaml:"head_dim" json:"head_dim,omitempty" max:"131072" help:"dimension of one head; 0: d_model / heads"`
	KVHeads   int     `yaml:"kv_heads" json:"kv_heads,omitempty" max:"131072" help:"heads of keys and values, each for heads / kv_heads of them; 0: as many"`
	Positions string  `yaml:"positions" json:"positions,omitempty" help:"learned, alibi, rope or none"`
	RopeBase  float64 `yaml:"rope_base" json:"rope_base,omitempty" default:"10000 with rope" from:".positions" help:"rope: base of the wavelengths"`

	RopeScaling layers.RopeScaling `yaml:"rope_scaling" json:"rope_scaling,omitzero" help:"rope: for rows longer than those of training"`

	RopePart float64 `yaml:"rope_part" json:"rope_part,omitempty" added:"0" help:"rope: rotate this share of each head's pairs, the first ones; 0: all"`
	NoRope   []int   `yaml:"no_rope" json:"no_rope,omitempty" default:"none" added:"null" help:"rope: blocks without positions, rising"`
	Scale    float64 `yaml:"scale" json:"scale,omitempty" default:"1/sqrt(head_dim)" added:"0" help:"factor of q.k"`
	Softcap  float64 `yaml:"softcap" json:"softcap,omitempty" added:"0" help:"c of logits c tanh(scale q.k / c); 0: none. Not on a GPU"`
	Bias     string  `yaml:"bias" json:"bias,omitempty" added:"\"\""`

	QKNorm     bool   `yaml:"qk_norm" json:"qk_norm,omitempty" help:"RMSNorm of each head's queries and keys, before rotary positions"`
	QKNormOver string `yaml:"qk_norm_over" json:"qk_norm_over,omitempty" default:"head" added:"\"\""`

	ValueResidual   string `yaml:"value_residual" json:"value_residual,omitempty"`
	ValueEmbeddings int    `yaml:"value_embeddings" json:"value_embeddings,omitempty" added:"0" max:"131072"`

	InverseLayerScaling bool `yaml:"inverse_layer_scaling" json:"inverse_layer_scaling,omitempty" help:"divide logits by the block's number"`
}

// Help returns the help texts that are too long for tags, by key.
func (Attention) Help() map[string]string {
	return map[string]string{
		"bias":         "biases of the maps around attention, also without model.bias: qkv, or all, that of the output too; none or empty: no",
		"qk_norm_over": "qk_norm: over each head, or over the row of all heads, with a gain for each entry. A GPU is refused row",
		"value_residual": "mix block 0's values into those of later blocks: fixed, half and half, or learned, two weights a block; none or " +
			"empty: no",
		"value_embeddings": "every other block, the last included, adds a token's row of its own table to the values, by a gate of this number of " +
			"inputs; 0: none",
	}
}

// Design returns the attention's kind with its settings.
func (a Attention) Design() layers.AttentionDesign {
	if a.Kind == nil {
		return layers.DefaultAttention()
	}
	return a.Kind
}

// isDefault tells whether the kind is the default, which nil stands for.
func (a Attention) isDefault() bool {
	return a.Kind == nil || reflect.TypeOf(a.Kind) == reflect.TypeOf(layers.DefaultAttention())
}

// MuP is the maximal update parametrisation (Yang et al. 2022): the sizes of the base model
// that hyperparameters were tuned on, and three multipliers. A zero multiplier is 1.
type MuP struct {
	Base MuPBase `yaml:"base" json:"base,omitempty" help:"sizes of the base model"`

	InputMultiplier  float64 `yaml:"input_multiplier" json:"input_multiplier,omitempty" help:"multiplies the embedding; 0: 1"`
	OutputMultiplier float64 `yaml:"output_multiplier" json:"output_multiplier,omitempty" help:"multiplies the logits; 0: 1"`
	AttnMultiplier   float64 `yaml:"attn_multiplier" json:"attn_multiplier,omitempty" help:"multiplies the attention logits; 0: 1"`
}

// MuPBase holds the sizes of a muP base, in sections. A size that is zero, or whose section is nil,
// stands for the model's own.
type MuPBase struct {
	Stream      stream.Design            `yaml:"stream" json:"stream,omitempty" kind:"model.stream"`
	Attention   BaseHeads                `yaml:"attention" json:"attention,omitempty" help:"the base model's attention"`
	FeedForward layers.FeedForwardDesign `yaml:"feedforward" json:"feedforward,omitempty" kind:"model.feedforward"`
}

// Help returns the help texts that are too long for tags, by key.
func (MuPBase) Help() map[string]string {
	return map[string]string{
		"stream":      "sizes of the base model's stream, with the keys of model.stream but kind; one of 0 is the model's own",
		"feedforward": "sizes of the base model's feed-forward, with the keys of model.feedforward but kind; one of 0 is the model's own",
	}
}

// BaseHeads are the attention heads of a muP base.
type BaseHeads struct {
	Heads   int `yaml:"heads" json:"heads,omitempty" help:"number of heads; 0: the model's own"`
	HeadDim int `yaml:"head_dim" json:"head_dim,omitempty" help:"dimension of one head; 0: the model's own"`
}

// valuesNone is the value of attention.value_residual that means the same as leaving it out.
const valuesNone = "none"

// FieldError is a Config field with a bad value.
type FieldError struct{ Field, Problem string }

// Error returns "model.stream.rank: want >= 1, got 0".
func (e *FieldError) Error() string { return "model." + e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// WithDefaults fills in the fields that are zero and have a default.
func (c Config) WithDefaults() Config {
	setDefault(&c.Norm, NormLayer)
	setDefault(&c.NormEps, 1e-6)
	setDefault(&c.Attention.Positions, PositionsLearned)
	if isStruct(c.Attention.Kind) {
		c.Attention.Kind = layers.WithDefaults(c.Attention.Kind)
	}
	if c.Attention.isDefault() {
		c.Attention.Kind = nil
	}
	setDefault(&c.Gelu, GeluTanh)
	setDefault(&c.Init, InitPaper)
	if c.Init == InitPaper {
		setDefault(&c.InitStd, 0.02)
	}
	setDefault(&c.EmbeddingStd, 0.02)
	if c.Attention.Positions == PositionsRoPE {
		setDefault(&c.Attention.RopeBase, 10000)
		c.Attention.RopeScaling = c.Attention.RopeScaling.WithDefaults()
	}
	if c.Loops > 0 {
		setDefault(&c.LoopEnd, c.Layers)
	}
	clearDefault(&c.Attention.ValueResidual, valuesNone)
	clearDefault(&c.Attention.Bias, valuesNone)
	clearDefault(&c.Attention.QKNormOver, qkNormHead)
	clearDefault(&c.Norms, stream.NormsBefore)
	if isStruct(c.FeedForward) {
		c.FeedForward = layers.WithDefaults(c.FeedForward)
	}
	if isStruct(c.Writes) {
		c.Writes = layers.WithDefaults(c.Writes)
	}
	if c.Writes == (stream.WritesDesign(stream.NoWrites{})) {
		c.Writes = nil
	}
	if isStruct(c.Stream) {
		c.Stream = layers.WithDefaults(c.Stream)
	}
	return c
}

// clearDefault sets a word that means the same as leaving it out to "".
func clearDefault(field *string, word string) {
	if *field == word {
		*field = ""
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

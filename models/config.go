// Package models puts streams and blocks together: a Config describes a language model,
// New builds its symbolic Gorgonia graph, Presets lists the known ones, and Cost says in
// closed form what one takes.
package models

import (
	"fmt"

	"github.com/pkg/errors"
)

// The values of Config's named choices.
const (
	NormLayer = "layernorm"
	NormRMS   = "rmsnorm"

	PositionsLearned = "learned"
	PositionsALiBi   = "alibi"
	PositionsRoPE    = "rope"
	PositionsNone    = "none"

	GeluTanh  = "tanh"
	GeluExact = "exact"

	InitPaper = "paper" // N(0, 0.02^2/fan_in), the RMT authors' code
	InitLeCun = "lecun" // N(0, 1/fan_in), the runs of the paper's Table 10
)

// Config describes a language model. A zero field takes the default that Resolve names.
// What a run config says about its model section is in the tags; package config reads them.
type Config struct {
	Preset string `yaml:"preset" json:"preset,omitempty" help:"start from the preset of that name; the other keys of this section override it (go run ./cmd/models lists them)"`
	Stream string `yaml:"stream" json:"stream" default:"required, or preset" help:"residual stream: matrix, vector, hyper, mhc, mhc-lite, vwn, highway, hieragg or dwlstm"`
	Layers int    `yaml:"layers" json:"layers" default:"required, or preset" max:"4096" help:"number of blocks"`

	DModel   int `yaml:"d_model" json:"d_model,omitempty" default:"required, or preset" max:"131072" help:"all but matrix: width D"`
	Heads    int `yaml:"heads" json:"heads,omitempty" default:"required, or preset" max:"131072" help:"all but matrix: number of attention heads"`
	HeadSize int `yaml:"head_dim" json:"head_dim,omitempty" max:"131072" help:"all but matrix: size of one head; 0: d_model / heads"`

	Dk   int `yaml:"dk" json:"dk,omitempty" default:"required, or preset" max:"131072" help:"matrix: rows Dk of the stream, the key dimension"`
	Dv   int `yaml:"dv" json:"dv,omitempty" default:"required, or preset" max:"131072" help:"matrix: columns Dv of the stream, the value dimension"`
	Rank int `yaml:"rank" json:"rank,omitempty" default:"required, or preset" max:"131072" help:"matrix: R, the number of heads, and of key vectors of a sublayer"`

	N                  int  `yaml:"n" json:"n,omitempty" default:"4; vwn: required" from:"model.stream" max:"4096" help:"hyper, mhc, mhc-lite: number of streams; vwn: number of slots"`
	M                  int  `yaml:"m" json:"m,omitempty" default:"vwn: required" max:"4096" help:"vwn: number of slots, of d_model / m each, that a sublayer reads"`
	Dynamic            bool `yaml:"dynamic" json:"dynamic,omitempty" help:"hyper: the coefficients depend on the stream"`
	SinkhornIterations int  `yaml:"sinkhorn_iterations" json:"sinkhorn_iterations,omitempty" default:"20 with mhc" from:"model.stream" max:"1000" help:"mhc: iterations that make the mixing doubly stochastic"`
	ExpandEmbedding    bool `yaml:"expand_embedding" json:"expand_embedding,omitempty" help:"vwn: embed d_model entries and multiply by W_expand"`
	Inner              int  `yaml:"inner" json:"inner,omitempty" default:"d_model with hieragg" from:"model.stream model.d_model" max:"1048576" help:"hieragg: hidden width of the aggregate"`
	SeparateAggregates bool `yaml:"separate_aggregates" json:"separate_aggregates,omitempty" help:"hieragg: an aggregate for each pair of blocks, instead of one for all"`

	Experts int `yaml:"experts" json:"experts,omitempty" max:"4096" help:"experts of a mixture-of-experts feed-forward, of width ff each; 0: a dense feed-forward"`
	TopK    int `yaml:"top_k" json:"top_k,omitempty" default:"2 with experts, 1 of one" from:"model.experts" max:"4096" help:"experts that a token goes to"`

	FF    int `yaml:"ff" json:"ff" default:"required, or preset" max:"1048576" help:"hidden width of the feed-forward; dwlstm has none"`
	Vocab int `yaml:"vocab" json:"vocab" default:"the tokenizer's" from:"data.tokenizer" max:"65536" help:"number of token ids"`
	Seq   int `yaml:"seq" json:"seq" default:"required, or preset" max:"1048576" help:"tokens of a row in training, and rows of learned positions"`

	Norm                string  `yaml:"norm" json:"norm" help:"layernorm or rmsnorm"`
	NormEps             float64 `yaml:"norm_eps" json:"norm_eps" help:"epsilon of the norm"`
	Positions           string  `yaml:"positions" json:"positions" help:"learned, alibi, rope or none"`
	RopeBase            float64 `yaml:"rope_base" json:"rope_base,omitempty" default:"10000 with rope" from:"model.positions" help:"rope: base of the wavelengths"`
	InverseLayerScaling bool    `yaml:"inverse_layer_scaling" json:"inverse_layer_scaling" help:"divide attention logits by the block's number, from 1"`
	Bias                bool    `yaml:"bias" json:"bias" help:"biases in norms and linear maps"`
	TieEmbeddings       bool    `yaml:"tie_embeddings" json:"tie_embeddings" help:"the unembedding is the embedding, transposed"`
	Gelu                string  `yaml:"gelu" json:"gelu" help:"tanh or exact"`
	Dropout             float64 `yaml:"dropout" json:"dropout" help:"dropout rate of what is written to the stream"`

	Init         string  `yaml:"init" json:"init" help:"initial weights: paper, N(0, init_std^2 / fan_in), or lecun, N(0, 1 / fan_in)"`
	InitStd      float64 `yaml:"init_std" json:"init_std,omitempty" default:"0.02 with init paper" from:"model.init" help:"with init paper: the numerator of the standard deviation"`
	EmbeddingStd float64 `yaml:"embedding_std" json:"embedding_std" help:"standard deviation of the initial embedding"`

	MuP *MuP `yaml:"mup" json:"mup,omitempty" help:"maximal update parametrisation; null: the standard one"`

	// MaskDocuments and BOS come from a run's data section: attention stays inside a
	// document, which begins at BOS.
	MaskDocuments bool `yaml:"-" json:"mask_documents"`
	BOS           int  `yaml:"-" json:"bos,omitempty"`
	// ZLoss comes from a run's train section: the coefficient of mean (log Z)^2.
	ZLoss float64 `yaml:"-" json:"z_loss,omitempty"`
	// BalanceLoss and RouterZLoss come from there too: the coefficients of the experts'
	// load balance and of the routers' mean (log Z)^2, summed over layers.
	BalanceLoss float64 `yaml:"-" json:"balance_loss,omitempty"`
	RouterZLoss float64 `yaml:"-" json:"router_z_loss,omitempty"`
}

// MuP is the maximal update parametrisation (Yang et al. 2022): widths of the base model
// that hyperparameters were tuned on, and three multipliers. A zero base is the model's
// own size, a zero multiplier is 1.
type MuP struct {
	BaseDModel  int `yaml:"base_d_model" json:"base_d_model,omitempty" help:"d_model of the base model; 0: the model's own"`
	BaseHeads   int `yaml:"base_heads" json:"base_heads,omitempty" help:"heads of the base model; 0: the model's own"`
	BaseHeadDim int `yaml:"base_head_dim" json:"base_head_dim,omitempty" help:"head size of the base model; 0: the model's own"`
	BaseDk      int `yaml:"base_dk" json:"base_dk,omitempty" help:"dk of the base model; 0: the model's own"`
	BaseDv      int `yaml:"base_dv" json:"base_dv,omitempty" help:"dv of the base model; 0: the model's own"`
	BaseRank    int `yaml:"base_rank" json:"base_rank,omitempty" help:"rank of the base model; 0: the model's own"`
	BaseFF      int `yaml:"base_ff" json:"base_ff,omitempty" help:"ff of the base model; 0: the model's own"`

	InputMultiplier  float64 `yaml:"input_multiplier" json:"input_multiplier,omitempty" help:"multiplies the embedding; 0: 1"`
	OutputMultiplier float64 `yaml:"output_multiplier" json:"output_multiplier,omitempty" help:"multiplies the logits; 0: 1"`
	AttnMultiplier   float64 `yaml:"attn_multiplier" json:"attn_multiplier,omitempty" help:"multiplies the attention logits; 0: 1"`
}

// FieldError is a Config field with a bad value.
type FieldError struct{ Field, Problem string }

// Error returns "model.rank: want >= 1, got 0".
func (e *FieldError) Error() string { return "model." + e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Resolve returns the config with every default filled in: a preset's values where it
// names a preset and no stream, then the fields' own defaults and those of the stream.
func (c Config) Resolve() Config {
	c = c.overPreset()
	setDefault(&c.Norm, NormLayer)
	setDefault(&c.NormEps, 1e-6)
	setDefault(&c.Positions, PositionsLearned)
	setDefault(&c.Gelu, GeluTanh)
	setDefault(&c.Init, InitPaper)
	if c.Init == InitPaper {
		setDefault(&c.InitStd, 0.02)
	}
	setDefault(&c.EmbeddingStd, 0.02)
	if c.Positions == PositionsRoPE {
		setDefault(&c.RopeBase, 10000)
	}
	if c.Experts > 0 {
		setDefault(&c.TopK, min(2, c.Experts))
	}
	return c.withDefaults()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// positionRows is the number of rows of the position table, 0 without one.
func (c Config) positionRows() int {
	if c.Positions == PositionsLearned {
		return c.Seq
	}
	return 0
}

// SameModel tells whether two configs describe the same parameters and the same function
// of them, and if not why. How a model starts and is trained (init, dropout, z-loss, document
// masks, rows without a position table) may differ.
func (c Config) SameModel(other Config) error {
	a, b := c.Resolve(), other.Resolve()
	for _, f := range []struct {
		field      string
		want, have any
	}{
		{"stream", a.Stream, b.Stream}, {"layers", a.Layers, b.Layers}, {"d_model", a.DModel, b.DModel},
		{"heads", a.Heads, b.Heads}, {"dk", a.Dk, b.Dk}, {"dv", a.Dv, b.Dv}, {"rank", a.Rank, b.Rank}, {"head_dim", a.HeadDim(), b.HeadDim()},
		{"ff", a.FF, b.FF}, {"vocab", a.Vocab, b.Vocab}, {"positions", a.Positions, b.Positions}, {"seq", a.positionRows(), b.positionRows()},
		{"bias", a.Bias, b.Bias}, {"tie_embeddings", a.TieEmbeddings, b.TieEmbeddings},
		{"norm", a.Norm, b.Norm}, {"norm_eps", a.NormEps, b.NormEps}, {"gelu", a.Gelu, b.Gelu}, {"rope_base", a.RopeBase, b.RopeBase},
		{"inverse_layer_scaling", a.InverseLayerScaling, b.InverseLayerScaling},
		{"n", a.N, b.N}, {"m", a.M, b.M}, {"dynamic", a.Dynamic, b.Dynamic}, {"sinkhorn_iterations", a.SinkhornIterations, b.SinkhornIterations},
		{"expand_embedding", a.ExpandEmbedding, b.ExpandEmbedding}, {"inner", a.Inner, b.Inner}, {"separate_aggregates", a.SeparateAggregates, b.SeparateAggregates}, {"experts", a.Experts, b.Experts}, {"top_k", a.TopK, b.TopK},
		{"mup: scale of the embedding", a.inputScale(), b.inputScale()}, {"mup: scale of the logits", a.logitScale(), b.logitScale()},
		{"mup: scale of q.k", a.attentionScale(0), b.attentionScale(0)},
	} {
		if f.want != f.have {
			return errors.Errorf("model.%s: want %v, got %v", f.field, f.want, f.have)
		}
	}
	return nil
}

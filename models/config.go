// Package models puts streams and blocks together: a Config describes a language model,
// New builds its symbolic Gorgonia graph, Presets lists the known ones, and Cost says in
// closed form what one takes.
package models

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
)

// The values of Config's named choices.
const (
	StreamMatrix = "matrix" // Residual Matrix Transformer
	StreamVector = "vector" // GPT-2 style transformer

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
type Config struct {
	Preset string `yaml:"preset" json:"preset,omitempty"` // start from a preset; other fields override it
	Stream string `yaml:"stream" json:"stream"`           // matrix | vector
	Layers int    `yaml:"layers" json:"layers"`           // blocks

	DModel int `yaml:"d_model" json:"d_model,omitempty"` // vector: width D
	Heads  int `yaml:"heads" json:"heads,omitempty"`     // vector: attention heads
	// HeadSize is the size of one of the vector stream's heads; default d_model/heads.
	HeadSize int `yaml:"head_dim" json:"head_dim,omitempty"`

	Dk   int `yaml:"dk" json:"dk,omitempty"`     // matrix: rows, the key dimension
	Dv   int `yaml:"dv" json:"dv,omitempty"`     // matrix: columns, the value dimension
	Rank int `yaml:"rank" json:"rank,omitempty"` // matrix: R, heads and key vectors a site

	FF    int `yaml:"ff" json:"ff"`       // feed-forward hidden width
	Vocab int `yaml:"vocab" json:"vocab"` // token ids; a run takes it from the tokenizer
	Seq   int `yaml:"seq" json:"seq"`     // tokens a row in training; rows of learned positions

	Norm                string  `yaml:"norm" json:"norm"`                                   // layernorm | rmsnorm; default layernorm
	NormEps             float64 `yaml:"norm_eps" json:"norm_eps"`                           // default 1e-6
	Positions           string  `yaml:"positions" json:"positions"`                         // learned | alibi | rope | none; default learned
	RopeBase            float64 `yaml:"rope_base" json:"rope_base,omitempty"`               // default 10000 with rope
	InverseLayerScaling bool    `yaml:"inverse_layer_scaling" json:"inverse_layer_scaling"` // attention logits / (layer index + 1)
	Bias                bool    `yaml:"bias" json:"bias"`                                   // biases of norms and linear maps
	TieEmbeddings       bool    `yaml:"tie_embeddings" json:"tie_embeddings"`               // unembedding = embedding^T
	Gelu                string  `yaml:"gelu" json:"gelu"`                                   // tanh | exact; default tanh
	Dropout             float64 `yaml:"dropout" json:"dropout"`                             // on what is written to the stream; default 0

	Init         string  `yaml:"init" json:"init"`                   // paper | lecun; default paper
	InitStd      float64 `yaml:"init_std" json:"init_std,omitempty"` // numerator of paper's std; default 0.02
	EmbeddingStd float64 `yaml:"embedding_std" json:"embedding_std"` // default 0.02

	MuP *MuP `yaml:"mup" json:"mup,omitempty"` // nil: standard parametrisation

	// MaskDocuments and BOS come from a run's data section: attention stays inside a
	// document, which begins at BOS.
	MaskDocuments bool `yaml:"-" json:"mask_documents"`
	BOS           int  `yaml:"-" json:"bos,omitempty"`
	// ZLoss comes from a run's train section: the coefficient of mean (log Z)^2.
	ZLoss float64 `yaml:"-" json:"z_loss,omitempty"`
}

// MuP is the maximal update parametrisation (Yang et al. 2022): widths of the base model
// that hyperparameters were tuned on, and three multipliers. A zero base is the model's
// own size, a zero multiplier is 1.
type MuP struct {
	BaseDModel  int `yaml:"base_d_model" json:"base_d_model,omitempty"`
	BaseHeads   int `yaml:"base_heads" json:"base_heads,omitempty"`
	BaseHeadDim int `yaml:"base_head_dim" json:"base_head_dim,omitempty"`
	BaseDk      int `yaml:"base_dk" json:"base_dk,omitempty"`
	BaseDv      int `yaml:"base_dv" json:"base_dv,omitempty"`
	BaseRank    int `yaml:"base_rank" json:"base_rank,omitempty"`
	BaseFF      int `yaml:"base_ff" json:"base_ff,omitempty"`

	InputMultiplier  float64 `yaml:"input_multiplier" json:"input_multiplier,omitempty"`
	OutputMultiplier float64 `yaml:"output_multiplier" json:"output_multiplier,omitempty"`
	AttnMultiplier   float64 `yaml:"attn_multiplier" json:"attn_multiplier,omitempty"`
}

// FieldError is a Config field with a bad value.
type FieldError struct{ Field, Problem string }

// Error returns "model.rank: want >= 1, got 0".
func (e *FieldError) Error() string { return "model." + e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Resolve returns the config with every default filled in: a preset's values where it
// names a preset and no stream, then the fields' own defaults.
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
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate tells the first field, in reading order, that no model can be built with; the
// error is a *FieldError.
func (c Config) Validate() error {
	c = c.Resolve()
	for _, check := range []func() error{c.checkStream, c.checkSizes, c.checkChoices, c.checkNumbers, c.checkMuP} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkStream() error {
	switch c.Stream {
	case StreamMatrix, StreamVector:
		return nil
	case "":
		if _, names, ok := FindPreset(c.Preset); c.Preset != "" && !ok {
			return fieldError("preset", "want one of %v, got %q", names, c.Preset)
		}
		return fieldError("stream", "want %s or %s, got nothing: name a stream or a preset", StreamMatrix, StreamVector)
	}
	return fieldError("stream", "want %s or %s, got %q", StreamMatrix, StreamVector, c.Stream)
}

// size is a named integer of a config.
type size struct {
	field string
	value int
}

func (c Config) checkSizes() error {
	wanted, foreign := []size{{"dk", c.Dk}, {"dv", c.Dv}, {"rank", c.Rank}}, []size{{"d_model", c.DModel}, {"heads", c.Heads}}
	if c.Stream == StreamVector {
		wanted, foreign = foreign, wanted
	}
	for _, s := range append(append([]size{{"layers", c.Layers}}, wanted...), size{"ff", c.FF}, size{"vocab", c.Vocab}, size{"seq", c.Seq}) {
		if s.value < 1 {
			return fieldError(s.field, "want >= 1, got %d", s.value)
		}
	}
	if c.Stream == StreamMatrix {
		foreign = append(foreign, size{"head_dim", c.HeadSize})
	}
	for _, s := range foreign {
		if s.value != 0 {
			return fieldError(s.field, "want nothing for the %s stream, got %d: remove it or change model.stream", c.Stream, s.value)
		}
	}
	if c.HeadSize < 0 {
		return fieldError("head_dim", "want >= 1, or 0 for d_model/heads, got %d", c.HeadSize)
	}
	if c.Stream == StreamVector && c.HeadSize == 0 && c.DModel%c.Heads != 0 {
		return fieldError("heads", "want a divisor of d_model %d, got %d", c.DModel, c.Heads)
	}
	if c.Positions == PositionsRoPE && c.HeadDim()%2 != 0 {
		return fieldError("positions", "rope wants an even head size, got %d", c.HeadDim())
	}
	return nil
}

func (c Config) checkChoices() error {
	for _, choice := range []struct {
		field, value string
		known        []string
	}{
		{"norm", c.Norm, []string{NormLayer, NormRMS}},
		{"positions", c.Positions, []string{PositionsLearned, PositionsALiBi, PositionsRoPE, PositionsNone}},
		{"gelu", c.Gelu, []string{GeluTanh, GeluExact}},
		{"init", c.Init, []string{InitPaper, InitLeCun}},
	} {
		if !contains(choice.known, choice.value) {
			return fieldError(choice.field, "want one of %v, got %q", choice.known, choice.value)
		}
	}
	return nil
}

func contains(known []string, value string) bool {
	for _, k := range known {
		if k == value {
			return true
		}
	}
	return false
}

func (c Config) checkNumbers() error {
	switch {
	case !(c.NormEps > 0 && c.NormEps < 1):
		return fieldError("norm_eps", "want between 0 and 1, got %g", c.NormEps)
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return fieldError("dropout", "want a rate in [0, 1), got %g", c.Dropout)
	case c.Init == InitLeCun && c.InitStd != 0:
		return fieldError("init_std", "want nothing with init %s, whose numerator is 1, got %g: remove it or set init to %s", InitLeCun, c.InitStd, InitPaper)
	case c.Init == InitPaper && !positive(c.InitStd):
		return fieldError("init_std", "want a finite number > 0, got %g", c.InitStd)
	case !positive(c.EmbeddingStd):
		return fieldError("embedding_std", "want a finite number > 0, got %g", c.EmbeddingStd)
	case c.RopeBase != 0 && (c.Positions != PositionsRoPE || !(c.RopeBase > 1)):
		return fieldError("rope_base", "want > 1 and positions rope, got %g with positions %s", c.RopeBase, c.Positions)
	case c.Norm == NormRMS && c.Bias:
		return fieldError("bias", "rmsnorm has no bias: set bias to false or norm to %s", NormLayer)
	case c.ZLoss != 0 && !positive(c.ZLoss):
		return fieldError("z_loss", "want a finite number >= 0, got %g", c.ZLoss)
	case c.MaskDocuments && (c.BOS < 0 || c.BOS >= c.Vocab):
		return fieldError("mask_documents", "want a BOS id below the vocabulary %d, got %d", c.Vocab, c.BOS)
	}
	return nil
}

// positive tells whether v is a finite number above 0.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

func (c Config) checkMuP() error {
	if c.MuP == nil {
		return nil
	}
	m := c.MuP
	wanted, foreign := []size{{"base_dk", m.BaseDk}, {"base_dv", m.BaseDv}, {"base_rank", m.BaseRank}},
		[]size{{"base_d_model", m.BaseDModel}, {"base_heads", m.BaseHeads}, {"base_head_dim", m.BaseHeadDim}}
	if c.Stream == StreamVector {
		wanted, foreign = foreign, wanted
	}
	for _, s := range append(wanted, size{"base_ff", m.BaseFF}) {
		if s.value < 0 {
			return fieldError("mup."+s.field, "want >= 1, got %d", s.value)
		}
	}
	for _, s := range foreign {
		if s.value != 0 {
			return fieldError("mup."+s.field, "want nothing for the %s stream, got %d: remove it", c.Stream, s.value)
		}
	}
	for _, f := range []struct {
		field string
		value float64
	}{{"input_multiplier", m.InputMultiplier}, {"output_multiplier", m.OutputMultiplier}, {"attn_multiplier", m.AttnMultiplier}} {
		if f.value != 0 && !positive(f.value) {
			return fieldError("mup."+f.field, "want a finite number > 0, got %g", f.value)
		}
	}
	return nil
}

// HeadDim is the size of one attention head: Dv, or head_dim, or d_model/heads.
func (c Config) HeadDim() int {
	switch {
	case c.Stream != StreamVector:
		return c.Dv
	case c.HeadSize > 0:
		return c.HeadSize
	}
	return c.DModel / max(1, c.Heads)
}

// HeadCount is the number of attention heads: R, or heads.
func (c Config) HeadCount() int {
	if c.Stream == StreamVector {
		return c.Heads
	}
	return c.Rank
}

// Width is the number of features that blocks work on: R*Dv, or d_model.
func (c Config) Width() int {
	if c.Stream == StreamVector {
		return c.DModel
	}
	return c.Rank * c.Dv
}

// StreamSize is the number of entries of a token's residual stream: Dk*Dv, or d_model.
func (c Config) StreamSize() int {
	if c.Stream == StreamVector {
		return c.DModel
	}
	return c.Dk * c.Dv
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
		{"mup: scale of the embedding", a.ratios().input, b.ratios().input}, {"mup: scale of the logits", a.logitScale(), b.logitScale()},
		{"mup: scale of q.k", a.attentionScale(0), b.attentionScale(0)},
	} {
		if f.want != f.have {
			return errors.Errorf("model.%s: want %v, got %v", f.field, f.want, f.have)
		}
	}
	return nil
}

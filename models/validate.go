package models

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream"
)

// Validate tells the first field, in reading order, that no model can be built with; the
// error is a *FieldError.
func (c Config) Validate() error {
	c = c.Resolve()
	for _, check := range []func() error{c.checkStream, c.checkSizes, c.checkForeign, c.checkExperts, c.checkChoices, c.checkNumbers, c.checkMuP} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkStream() error {
	if c.Stream == "" {
		if _, names, ok := FindPreset(c.Preset); c.Preset != "" && !ok {
			return fieldError("preset", "want one of %v, got %q", names, c.Preset)
		}
		return fieldError("stream", "want one of %v, got nothing: name a stream or a preset", Streams())
	}
	if !slices.Contains(Streams(), c.Stream) {
		return fieldError("stream", "want one of %v, got %q", Streams(), c.Stream)
	}
	return nil
}

// checkSizes looks at sizes that are missing or do not fit together.
func (c Config) checkSizes() error {
	if err := stream.CheckSizes(stream.Size{Key: "layers", Value: c.Layers}); err != nil {
		return ofSetting(err)
	}
	if err := c.Design().Check(); err != nil {
		return ofSetting(err)
	}
	wanted := []stream.Size{{Key: "ff", Value: c.FF}, {Key: "vocab", Value: c.Vocab}, {Key: "seq", Value: c.Seq}}
	if !c.hasFeedForward() {
		wanted = wanted[1:]
	}
	if err := stream.CheckSizes(wanted...); err != nil {
		return ofSetting(err)
	}
	if c.Positions == PositionsRoPE && c.HeadDim()%2 != 0 {
		return fieldError("positions", "rope wants an even head size, got %d", c.HeadDim())
	}
	return nil
}

// ofSetting is a design's error as one of the config's.
func ofSetting(err error) error {
	var bad *stream.SettingError
	if errors.As(err, &bad) {
		return &FieldError{Field: bad.Key, Problem: bad.Problem}
	}
	return err
}

// hasFeedForward tells whether blocks have a feed-forward sublayer.
func (c Config) hasFeedForward() bool { return c.Shape().Has(stream.FeedForward) }

// checkForeign wants nothing that belongs to other streams alone.
func (c Config) checkForeign() error {
	if !c.hasFeedForward() && c.FF != 0 {
		return c.foreign("ff", c.FF)
	}
	own, values := entries()[c.Stream].keys(), reflect.ValueOf(c)
	for _, f := range keyed(values.Type()) {
		value := values.FieldByIndex(f.index)
		if value.IsZero() || slices.Contains(own, f.key) {
			continue
		}
		switch owners := owners(f.key); {
		case len(owners) == 0:
		case value.Kind() == reflect.Bool:
			return fieldError(f.key, "want nothing for the %s stream: it belongs to %s", c.Stream, strings.Join(owners, " and "))
		default:
			return c.foreign(f.key, value)
		}
	}
	return nil
}

// foreign refuses a value that means nothing to the stream.
func (c Config) foreign(key string, value any) error {
	return fieldError(key, "want nothing for the %s stream, got %v: remove it or change model.stream", c.Stream, value)
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
		if !slices.Contains(choice.known, choice.value) {
			return fieldError(choice.field, "want one of %v, got %q", choice.known, choice.value)
		}
	}
	return nil
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
	case c.BalanceLoss != 0 && !positive(c.BalanceLoss):
		return fieldError("balance_loss", "want a finite number >= 0, got %g", c.BalanceLoss)
	case c.RouterZLoss != 0 && !positive(c.RouterZLoss):
		return fieldError("router_z_loss", "want a finite number >= 0, got %g", c.RouterZLoss)
	case c.MaskDocuments && (c.BOS < 0 || c.BOS >= c.Vocab):
		return fieldError("mask_documents", "want a BOS id below the vocabulary %d, got %d", c.Vocab, c.BOS)
	}
	return nil
}

// positive tells whether v is a finite number above 0.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// checkExperts looks at the mixture of experts.
func (c Config) checkExperts() error {
	switch {
	case c.Experts < 0:
		return fieldError("experts", "want >= 1, or 0 for a dense feed-forward, got %d", c.Experts)
	case c.Experts > stream.MaxSize:
		return fieldError("experts", "want at most %d, got %d", stream.MaxSize, c.Experts)
	case c.Experts == 0 && c.TopK != 0:
		return fieldError("top_k", "want nothing without experts, got %d: set model.experts or remove it", c.TopK)
	case c.Experts == 0 && c.BalanceLoss != 0:
		return fieldError("balance_loss", "want nothing without experts, got %g: set model.experts or remove it", c.BalanceLoss)
	case c.Experts == 0 && c.RouterZLoss != 0:
		return fieldError("router_z_loss", "want nothing without experts, got %g: set model.experts or remove it", c.RouterZLoss)
	case c.Experts > 0 && !c.hasFeedForward():
		return fieldError("experts", "want nothing for the %s stream, which has no feed-forward sublayer, got %d", c.Stream, c.Experts)
	case c.Experts > 0 && (c.TopK < 1 || c.TopK > c.Experts):
		return fieldError("top_k", "want 1 to %d, the number of experts, got %d", c.Experts, c.TopK)
	}
	return nil
}

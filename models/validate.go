package models

import "math"

// Validate tells the first field, in reading order, that no model can be built with; the
// error is a *FieldError.
func (c Config) Validate() error {
	c = c.Resolve()
	for _, check := range []func() error{c.checkStream, c.checkSizes, c.checkStreams, c.checkExperts, c.checkChoices, c.checkNumbers, c.checkMuP} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// streams are the names of the known streams.
func streams() []string {
	return []string{StreamMatrix, StreamVector, StreamHyper, StreamMHC, StreamMHCLite, StreamVWN, StreamHighway, StreamHierAgg, StreamDWLSTM}
}

func (c Config) checkStream() error {
	if c.Stream == "" {
		if _, names, ok := FindPreset(c.Preset); c.Preset != "" && !ok {
			return fieldError("preset", "want one of %v, got %q", names, c.Preset)
		}
		return fieldError("stream", "want one of %v, got nothing: name a stream or a preset", streams())
	}
	if !contains(streams(), c.Stream) {
		return fieldError("stream", "want one of %v, got %q", streams(), c.Stream)
	}
	return nil
}

// size is a named integer of a config.
type size struct {
	field string
	value int
}

// maxSize keeps products of two sizes within an int; token ids are int32.
const maxSize = math.MaxInt32

func (s size) check() error {
	switch {
	case s.value < 1:
		return fieldError(s.field, "want >= 1, got %d", s.value)
	case s.value > maxSize:
		return fieldError(s.field, "want at most %d, got %d", maxSize, s.value)
	}
	return nil
}

func (c Config) checkSizes() error {
	wanted, foreign := []size{{"dk", c.Dk}, {"dv", c.Dv}, {"rank", c.Rank}}, []size{{"d_model", c.DModel}, {"heads", c.Heads}, {"head_dim", c.HeadSize}}
	if c.Stream != StreamMatrix {
		wanted, foreign = foreign[:2], wanted
	}
	wanted = append([]size{{"layers", c.Layers}}, wanted...)
	if c.Stream == StreamDWLSTM {
		foreign = append(foreign, size{"ff", c.FF})
	} else {
		wanted = append(wanted, size{"ff", c.FF})
	}
	for _, s := range append(wanted, size{"vocab", c.Vocab}, size{"seq", c.Seq}) {
		if err := s.check(); err != nil {
			return err
		}
	}
	if err := c.checkForeign(foreign); err != nil {
		return err
	}
	if c.HeadSize < 0 {
		return fieldError("head_dim", "want >= 1, or 0 for d_model/heads, got %d", c.HeadSize)
	}
	if c.HeadSize > maxSize {
		return fieldError("head_dim", "want at most %d, got %d", maxSize, c.HeadSize)
	}
	if c.Stream != StreamMatrix && c.HeadSize == 0 && c.DModel%c.Heads != 0 {
		return fieldError("heads", "want a divisor of d_model %d, got %d", c.DModel, c.Heads)
	}
	if c.Positions == PositionsRoPE && c.HeadDim()%2 != 0 {
		return fieldError("positions", "rope wants an even head size, got %d", c.HeadDim())
	}
	return nil
}

// checkForeign wants no size that belongs to another stream.
func (c Config) checkForeign(sizes []size) error {
	for _, s := range sizes {
		if s.value != 0 {
			return fieldError(s.field, "want nothing for the %s stream, got %d: remove it or change model.stream", c.Stream, s.value)
		}
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

func (c Config) checkMuP() error {
	if c.MuP == nil {
		return nil
	}
	m := c.MuP
	wanted, foreign := []size{{"base_dk", m.BaseDk}, {"base_dv", m.BaseDv}, {"base_rank", m.BaseRank}},
		[]size{{"base_d_model", m.BaseDModel}, {"base_heads", m.BaseHeads}, {"base_head_dim", m.BaseHeadDim}}
	if c.Stream != StreamMatrix && c.Stream != StreamVector {
		return fieldError("mup", "want nothing for the %s stream: muP is known for %s and %s", c.Stream, StreamMatrix, StreamVector)
	}
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

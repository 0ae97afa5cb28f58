package models

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// checkStream checks the sizes of the model and of its stream, and sets the stream's shape.
func (s *Spec) checkStream() error {
	d := s.Config.Stream
	if d == nil {
		return fieldError("stream", "want a section with a kind, got nothing: name a kind of stream, or a preset")
	}
	if !isDesign(d) {
		return fieldError("stream", "want a struct that embeds stream.Common, got %T", d)
	}
	if err := layers.CheckSize("layers", s.Layers); err != nil {
		return s.ofSetting(err)
	}
	if err := s.checkLoop(); err != nil {
		return err
	}
	s.design = s.designed(s.Depth())
	if err := s.design.Check(); err != nil {
		return s.ofSetting(err)
	}
	s.shape = s.design.Shape()
	if err := cmp.Or(layers.CheckSize("vocab", s.Vocab), layers.CheckSize("seq", s.Seq)); err != nil {
		return s.ofSetting(err)
	}
	if kv, heads := s.Attention.KVHeads, s.HeadCount(); kv < 0 || kv > 0 && heads%kv != 0 {
		return fieldError("attention.kv_heads", "want a divisor of the %d heads, or 0 for as many, got %d", heads, kv)
	}
	if s.Attention.Positions == PositionsRoPE && s.HeadDim()%2 != 0 {
		return fieldError("attention.positions", "rope wants an even head dimension, got %d", s.HeadDim())
	}
	return s.checkAttention()
}

// checkAttention checks the settings of the attention's kind.
func (s *Spec) checkAttention() error {
	kind := s.Attention.Design()
	if !isStruct(kind) {
		return fieldError("attention", "want a struct, got %T", kind)
	}
	err := kind.Check(s.Layers)
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		return &FieldError{Field: "attention." + bad.Key, Problem: bad.Problem}
	}
	return err
}

// checkLoop checks that the loop's blocks exist and that tokens do not pass too many blocks for a
// graph.
func (s *Spec) checkLoop() error {
	switch {
	case s.Loops < 0:
		return fieldError("loops", "want >= 1, got %d", s.Loops)
	case s.Loops == 0 && (s.LoopBegin != 0 || s.LoopEnd != 0):
		return fieldError("loops", "want how many times tokens pass blocks %d to %d, got nothing", s.LoopBegin, s.LoopEnd-1)
	case s.Loops == 0:
		return nil
	case s.LoopBegin < 0 || s.LoopBegin >= s.Layers:
		return fieldError("loop_begin", "want one of the blocks, 0 to %d, got %d", s.Layers-1, s.LoopBegin)
	case s.LoopEnd <= s.LoopBegin || s.LoopEnd > s.Layers:
		return fieldError("loop_end", "want the block after the loop's last, %d to %d, got %d", s.LoopBegin+1, s.Layers, s.LoopEnd)
	case s.Loops > maxDepth || s.Depth() > maxDepth:
		return fieldError("loops", "want at most %d blocks on a token's way, got %d times %d of %d: set loops lower", maxDepth, s.Loops, s.LoopEnd-s.LoopBegin,
			s.Layers)
	}
	return nil
}

// maxDepth is the largest number of blocks, each counted as often as tokens pass it.
const maxDepth = 4096

// ofSetting turns a stream design's error into the config's.
func (s *Spec) ofSetting(err error) error {
	var bad *layers.SettingError
	if !errors.As(err, &bad) {
		return err
	}
	if hasSetting(s.Config.Stream, bad.Key) {
		return &FieldError{Field: "stream." + bad.Key, Problem: bad.Problem}
	}
	return &FieldError{Field: bad.Key, Problem: bad.Problem}
}

// checkFeedForward checks that there is a feed-forward if the stream's blocks have one, and only
// then.
func (s *Spec) checkFeedForward() error {
	has, none := s.shape.Has(stream.FeedForward), s.attentionOnly()
	switch {
	case s.FeedForward != nil && !isStruct(s.FeedForward):
		return fieldError("feedforward", "want a struct, got %T", s.FeedForward)
	case has && none:
		return fieldError("feedforward.kind", "want a feed-forward for the %s stream, which cannot do without, got %s: choose another kind, or "+
			"stream matrix or vector", s.Stream.Name(), s.FeedForward.Name())
	case !has && !none && s.FeedForward != nil:
		return fieldError("feedforward", "want nothing for the %s stream, whose blocks have no feed-forward, got kind %s: remove it", s.Stream.Name(),
			s.FeedForward.Name())
	case !has:
		return nil
	case s.FeedForward == nil:
		return fieldError("feedforward", "want a section with a kind, as {kind: gelu, hidden: %d}, got nothing", 4*s.Width())
	}
	err := s.FeedForward.Check()
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		return &FieldError{Field: "feedforward." + bad.Key, Problem: bad.Problem}
	}
	return err
}

// checkWrites checks the settings of what happens to what sublayers write.
func (s *Spec) checkWrites() error {
	if s.Writes == nil {
		return nil
	}
	if !isStruct(s.Writes) {
		return fieldError("writes", "want a struct, got %T", s.Writes)
	}
	err := s.Writes.Check()
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		return &FieldError{Field: "writes." + bad.Key, Problem: bad.Problem}
	}
	return err
}

func (s *Spec) checkChoices() error {
	for _, choice := range []struct {
		field, value string
		known        []string
	}{
		{"attention.positions", s.Attention.Positions, []string{PositionsLearned, PositionsALiBi, PositionsRoPE, PositionsNone}},
		{"attention.value_residual", cmp.Or(s.Attention.ValueResidual, valuesNone), []string{valuesNone, ValuesFixed, ValuesLearned}},
		{stream.NormsKey, cmp.Or(s.Norms, stream.NormsBefore), []string{stream.NormsBefore, stream.NormsAfter, stream.NormsBoth}},
		{stream.HeadBiasesKey, cmp.Or(s.Attention.Bias, valuesNone), []string{valuesNone, stream.HeadBiasesQKV, stream.HeadBiasesAll}},
		{"attention.qk_norm_over", cmp.Or(s.Attention.QKNormOver, qkNormHead), []string{qkNormHead, qkNormRow}},
		{"norm", s.Norm, []string{NormLayer, NormRMS}},
		{"gelu", s.Gelu, []string{GeluTanh, GeluExact}},
		{"init", s.Init, []string{InitPaper, InitLeCun, InitLeCunAll}},
	} {
		if !slices.Contains(choice.known, choice.value) {
			return fieldError(choice.field, "want one of %v, got %q", choice.known, choice.value)
		}
	}
	return nil
}

// checkRope checks that settings of rotary positions are given only with rotary positions.
func (s *Spec) checkRope() error {
	a := s.Attention
	switch rope := a.Positions == PositionsRoPE; {
	case a.RopeBase != 0 && (!rope || !(a.RopeBase > 1)):
		return fieldError("attention.rope_base", "want > 1 and positions rope, got %g with positions %s", a.RopeBase, a.Positions)
	case !a.RopeScaling.IsZero() && !rope:
		return fieldError("attention.rope_scaling", "want positions rope with it, got positions %s", a.Positions)
	}
	var bad *layers.SettingError
	if errors.As(a.RopeScaling.Check(), &bad) {
		return fieldError("attention.rope_scaling."+bad.Key, "%s", bad.Problem)
	}
	return nil
}

func (s *Spec) checkNumbers() error {
	switch a := s.Attention; {
	case a.ValueResidual != "" && s.Depth() < 2:
		return fieldError("attention.value_residual", "want none for a model of one block, got %s", a.ValueResidual)
	case !(s.NormEps > 0 && s.NormEps < 1):
		return fieldError("norm_eps", "want between 0 and 1, got %g", s.NormEps)
	case !(s.Dropout >= 0 && s.Dropout < 1):
		return fieldError("dropout", "want a rate in [0, 1), got %g", s.Dropout)
	case s.LogitSoftcap != 0 && !positive(s.LogitSoftcap):
		return fieldError("logit_softcap", "want a finite number >= 0 (0: not capped), got %g", s.LogitSoftcap)
	case s.Init != InitPaper && s.InitStd != 0:
		return fieldError("init_std", "want nothing with init %s, whose numerator is 1, got %g: remove it or set init to %s", s.Init, s.InitStd, InitPaper)
	case s.Init == InitPaper && !positive(s.InitStd):
		return fieldError("init_std", "want a finite number > 0, got %g", s.InitStd)
	case !positive(s.EmbeddingStd):
		return fieldError("embedding_std", "want a finite number > 0, got %g", s.EmbeddingStd)
	case s.Norm == NormRMS && s.Bias:
		return fieldError("bias", "rmsnorm has no bias: set norm to %s, or bias to false and attention.bias and feedforward_bias, for those of linear maps",
			NormLayer)
	case s.BOS < 0 || s.BOS >= s.Vocab:
		return fieldError("bos", "want an id below the vocabulary %d, got %d", s.Vocab, s.BOS)
	case s.Separator < 0 || s.Separator >= s.Vocab:
		return fieldError("separator", "want an id below the vocabulary %d, got %d", s.Vocab, s.Separator)
	}
	return nil
}

// positive tells whether v is a finite number above 0.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// checkMuP checks that muP is known for the stream and that the base has the model's own kinds.
func (s *Spec) checkMuP() error {
	if s.MuP == nil {
		return nil
	}
	if _, ok := s.design.(stream.MuPDesign); !ok {
		return fieldError("mup", "want nothing for the %s stream, which muP is not known for", s.Stream.Name())
	}
	base := s.MuP.Base
	for _, part := range []struct {
		key       string
		base, own any
	}{{"mup.base.stream", base.Stream, s.Stream}, {"mup.base.feedforward", base.FeedForward, s.FeedForward}} {
		if err := checkBase(part.key, part.base, part.own); err != nil {
			return err
		}
	}
	for _, size := range []struct {
		key   string
		value int
	}{{"mup.base.attention.heads", base.Attention.Heads}, {"mup.base.attention.head_dim", base.Attention.HeadDim}} {
		if size.value < 0 {
			return fieldError(size.key, "want >= 1, got %d", size.value)
		}
		if size.value > 0 && s.Attention.Heads == 0 {
			return fieldError(size.key, "want nothing for the %s stream, whose heads are its own, got %d: remove it", s.Stream.Name(), size.value)
		}
	}
	m := s.MuP
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

// checkBase checks that a section of the base, if there is one, has the model's own kind and no
// size below 0.
func checkBase(key string, base, own any) error {
	if base == nil {
		return nil
	}
	if !isStruct(base) {
		return fieldError(key, "want a struct, got %T", base)
	}
	if reflect.TypeOf(base) != reflect.TypeOf(own) {
		return fieldError(key, "want the kind of model.%s, got %s", key[len("mup.base."):], base.(Kind).Name())
	}
	v := reflect.ValueOf(base)
	for _, setting := range settingsOf(v.Type()) {
		if f := v.FieldByIndex(setting.Index); f.CanInt() && f.Int() < 0 {
			return fieldError(key+"."+setting.Key, "want >= 1, got %d", f.Int())
		}
	}
	return nil
}

package models

import (
	"cmp"
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// The values of Attention.QKNormOver.
const (
	qkNormHead = "head"
	qkNormRow  = "row"
)

// blockOptions returns the settings of blocks that the stream carries out.
func (s Spec) blockOptions() stream.BlockOptions {
	return stream.BlockOptions{Norms: s.Norms, ResidualScale: s.ResidualScale, Parallel: s.Parallel, HeadBiases: s.Attention.Bias}
}

// checkBlocks checks the settings of blocks, and that the stream has them.
func (s *Spec) checkBlocks() error {
	a, name := s.Attention, s.Stream.Name()
	for _, o := range []struct {
		key, none string
		set       bool
	}{
		{stream.NormsKey, stream.NormsBefore, s.Norms != ""},
		{stream.ResidualScaleKey, "0", s.ResidualScale != 0},
		{stream.ParallelKey, "false", s.Parallel},
		{stream.HeadBiasesKey, valuesNone, a.Bias != ""},
		{stream.ValueEmbeddingsKey, "0", a.ValueEmbeddings != 0},
	} {
		if o.set && !s.shape.HasOption(o.key) {
			return fieldError(o.key, "want %s for the %s stream, which has nothing else", o.none, name)
		}
	}
	switch {
	case s.Parallel && len(s.shape.Sublayers) < 2:
		return fieldError(stream.ParallelKey, "want false for blocks without a feed-forward, got true")
	case a.ValueEmbeddings < 0 || a.ValueEmbeddings > s.Width():
		return fieldError(stream.ValueEmbeddingsKey, "want entries of the attention's input, 0 to %d, got %d", s.Width(), a.ValueEmbeddings)
	case a.QKNormOver != "" && !a.QKNorm:
		return fieldError("attention.qk_norm_over", "want qk_norm with it, got %s without", a.QKNormOver)
	}
	return cmp.Or(s.checkFactors(), s.checkRopeBlocks())
}

// checkFactors checks the factors of embedding, blocks, attention and logits.
func (s *Spec) checkFactors() error {
	for _, f := range []struct {
		key   string
		value float64
	}{{"embedding_scale", s.EmbeddingScale}, {stream.ResidualScaleKey, s.ResidualScale}, {"logit_scale", s.LogitScale}, {"attention.scale", s.Attention.Scale},
		{"attention.softcap", s.Attention.Softcap}} {
		if f.value != 0 && !positive(f.value) {
			return fieldError(f.key, "want a finite number > 0, or 0 for none, got %g", f.value)
		}
	}
	return nil
}

// checkRopeBlocks checks which blocks, and how much of a head, have rotary positions.
func (s *Spec) checkRopeBlocks() error {
	a := s.Attention
	switch rope := a.Positions == PositionsRoPE; {
	case a.RopePart != 0 && !(rope && a.RopePart > 0 && a.RopePart < 1 && layers.RotatedPairs(a.RopePart, s.HeadDim()) > 0):
		return fieldError("attention.rope_part", "want positions rope, and a share between 0 and 1 of at least one of %d pairs, or 0 for all, got "+
			"%g with positions %s", s.HeadDim()/2, a.RopePart, a.Positions)
	case len(a.NoRope) > 0 && !rope:
		return fieldError("attention.no_rope", "want positions rope with it, got positions %s", a.Positions)
	}
	pairs := s.HeadDim() / 2
	if a.RopePart != 0 {
		pairs = layers.RotatedPairs(a.RopePart, s.HeadDim())
	}
	if r := a.RopeScaling; r.Type == layers.RopeLong && (len(r.ShortFactors) != pairs || len(r.LongFactors) != pairs) {
		return fieldError("attention.rope_scaling.short_factors", "want it and long_factors with a number for each of %d pairs, got %d and %d", pairs,
			len(r.ShortFactors), len(r.LongFactors))
	}
	for i, l := range a.NoRope {
		if l < 0 || l >= s.Layers || i > 0 && l <= a.NoRope[i-1] {
			return fieldError("attention.no_rope", "want blocks from 0 to %d, each once and rising, got %v", s.Layers-1, a.NoRope)
		}
	}
	return nil
}

// withScale returns a scale times a factor, 0 meaning 1.
func withScale(scale, factor float64) float64 { return scale * cmp.Or(factor, 1) }

// rope returns the base and the scaling of a block's rotary positions; a base of 0 means that it
// has none.
func (a Attention) rope(block int) (base float64, scaling layers.RopeScaling) {
	if slices.Contains(a.NoRope, block) {
		return 0, layers.RopeScaling{}
	}
	return a.RopeBase, a.RopeScaling
}

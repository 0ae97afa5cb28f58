package models

import (
	"math"
	"reflect"

	"github.com/residua-go/residua/stream"
)

// ratios returns the stream's sizes over the muP base's.
func (s Spec) ratios() stream.Ratios {
	scaled, ok := s.design.(stream.MuPDesign)
	if !ok || s.MuP == nil {
		return stream.Unscaled(s.HeadDim())
	}
	base := s.MuP.Base.Stream
	if base == nil {
		base = withChanges(s.Stream, func(v reflect.Value) { v.SetZero() })
	}
	return scaled.Ratios(withCommon(base, stream.Common{Heads: s.MuP.Base.Attention.Heads, HeadDim: s.MuP.Base.Attention.HeadDim}))
}

// hiddenRatio returns the feed-forward's hidden width over the base's.
func (s Spec) hiddenRatio() float64 {
	if s.MuP == nil || s.MuP.Base.FeedForward == nil {
		return 1
	}
	if base := s.MuP.Base.FeedForward.Shape().Hidden; base > 0 {
		return float64(s.FeedForwardShape().Hidden) / float64(base)
	}
	return 1
}

// multiplier returns one of MuP's multipliers, 1 if it is not set.
func (s Spec) multiplier(of func(m *MuP) float64) float64 {
	if s.MuP == nil || of(s.MuP) == 0 {
		return 1
	}
	return of(s.MuP)
}

// Scales are the constant factors of a model's maps: 1, 1/sqrt(head dimension) and 1 without muP.
type Scales struct {
	Embedding float64 // of what is looked up for a token
	Attention float64 // of q.k in block 0; with inverse layer scaling, block l divides it by l+1
	Logits    float64
}

// Scales returns the model's constant factors.
func (s Spec) Scales() Scales { return Scales{s.inputScale(), s.attentionScale(0), s.logitScale()} }

// inputScale is the factor of the embedding.
func (s Spec) inputScale() float64 {
	return withScale(s.multiplier(func(m *MuP) float64 { return m.InputMultiplier }), s.EmbeddingScale)
}

// attentionScale is the factor of q.k in block l: multiplier * sqrt(base Dh)/Dh, which is
// 1/sqrt(Dh), or attention.scale, without muP; with inverse layer scaling it is divided by l+1
// (paper C.1).
func (s Spec) attentionScale(l int) float64 {
	scale := s.multiplier(func(m *MuP) float64 { return m.AttnMultiplier }) * math.Sqrt(s.ratios().BaseHeadDim) / float64(s.HeadDim())
	switch own := s.Attention.Scale; {
	case own != 0 && s.MuP == nil:
		scale = own
	case own != 0:
		scale *= own * math.Sqrt(float64(s.HeadDim()))
	}
	if s.Attention.InverseLayerScaling {
		scale /= float64(l + 1)
	}
	return scale
}

// logitScale is the factor of the logits: the multiplier divided by the width ratio.
func (s Spec) logitScale() float64 {
	return withScale(s.multiplier(func(m *MuP) float64 { return m.OutputMultiplier })/s.ratios().WidthRatio, s.LogitScale)
}

package models

import "math"

// ratios are a model's widths over those of its muP base, and its multipliers: all 1
// without muP.
type ratios struct {
	width, heads, keys, rank, ff float64
	input, output, attention     float64
	headDim                      float64 // of the base model
}

// ratio returns size/base, 1 without a base.
func ratio(size, base int) float64 {
	if base == 0 {
		return 1
	}
	return float64(size) / float64(base)
}

func multiplier(m float64) float64 {
	if m == 0 {
		return 1
	}
	return m
}

func (c Config) ratios() ratios {
	if c.MuP == nil {
		return ratios{1, 1, 1, 1, 1, 1, 1, 1, float64(c.HeadDim())}
	}
	m := *c.MuP
	r := ratios{keys: ratio(c.Dk, m.BaseDk), rank: ratio(c.Rank, m.BaseRank), ff: ratio(c.FF, m.BaseFF),
		input: multiplier(m.InputMultiplier), output: multiplier(m.OutputMultiplier), attention: multiplier(m.AttnMultiplier)}
	if c.Stream != StreamMatrix {
		setDefault(&m.BaseHeadDim, c.HeadDim())
		r.width = ratio(c.DModel, m.BaseDModel)
		r.heads = ratio(c.Heads, m.BaseHeads) * ratio(c.HeadDim(), m.BaseHeadDim)
		r.headDim = float64(m.BaseHeadDim)
		return r
	}
	setDefault(&m.BaseDv, c.Dv)
	r.width = r.rank * ratio(c.Dv, m.BaseDv)
	r.headDim = float64(m.BaseDv)
	return r
}

// attentionScale is the factor of q.k in block l: multiplier * sqrt(base Dh)/Dh, which
// is 1/sqrt(Dh) without muP; with inverse layer scaling over (l+1) (paper C.1).
func (c Config) attentionScale(l int) float64 {
	r := c.ratios()
	scale := r.attention * math.Sqrt(r.headDim) / float64(c.HeadDim())
	if c.InverseLayerScaling {
		scale /= float64(l + 1)
	}
	return scale
}

// logitScale is the factor of the logits: multiplier over the width ratio.
func (c Config) logitScale() float64 {
	r := c.ratios()
	return r.output / r.width
}

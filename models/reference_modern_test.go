package models_test

import (
	"github.com/residua-go/residua/models"
)

// attentionSizes holds the fields of a folder's config about attention and positions, as plain
// keys; absent ones are off.
type attentionSizes struct {
	KVHeads       int `json:"kv_heads"`
	HeadDim       int `json:"head_dim"`
	Positions     string
	RopeTheta     float64 `json:"rope_theta"`
	QKNorm        bool    `json:"qk_norm"`
	ValueResidual string  `json:"value_residual"`
	Tied          bool
	Softcap       float64
}

// attention returns the attention that the fields describe.
func (c sizes) attention() models.Attention {
	a := models.Attention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, Positions: c.Positions, QKNorm: c.QKNorm,
		ValueResidual: c.ValueResidual, InverseLayerScaling: c.Inverse}
	if c.Positions == models.PositionsRoPE {
		a.RopeBase = c.RopeTheta
	}
	if c.ValueEmbeddings {
		a.ValueEmbeddings = c.ValueGateChannels
	}
	return a
}

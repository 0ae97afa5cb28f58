package models_test

import (
	"cmp"

	"github.com/residua-go/residua/models"
)

// attentionSizes are the fields of a folder's config that are about attention and positions: plain
// keys, those that are absent are off.
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

// attention is what the fields say.
func (c vectorSizes) attention() models.Attention {
	a := models.Attention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, Positions: c.Positions, QKNorm: c.QKNorm,
		ValueResidual: c.ValueResidual, InverseLayerScaling: c.Inverse}
	if c.Positions == models.PositionsRoPE {
		a.RopeBase = c.RopeTheta
	}
	return a
}

// attentionLinks are those of block l's attention but its norm and W_O.
func (c vectorSizes) attentionLinks(l int) []link {
	prefix := site(l, "attention")
	head := cmp.Or(c.HeadDim, c.D/max(1, c.Heads))
	heads, kv := c.Heads*head, cmp.Or(c.KVHeads, c.Heads)*head
	links := []link{}
	for i, name := range []string{"q", "k", "v"} {
		links = append(links, link{theirs: prefix + name, ours: prefix + "qkv", base: min(i, 1)*heads + max(0, i-1)*kv, strides: []int{heads + 2*kv, 1}})
	}
	if c.QKNorm {
		links = append(links, same(prefix+"q_norm", 1), same(prefix+"k_norm", 1))
	}
	if c.ValueResidual == models.ValuesLearned && l > 0 {
		links = append(links, same(prefix+"value_residual", 1))
	}
	return links
}

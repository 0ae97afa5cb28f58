package models_test

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// idle returns how many entries of a parameter have no gradient: mHC's mixing of the rows at the
// first site, where the rows are all the same, and at the last, where only their sum is read; a
// bias that only the keys use, which adds the same to all of a query's logits; and a neuron whose
// ReLU is closed for all tokens.
func idle(spec models.Spec, p *graph.Param) int {
	first, last := "blocks.0.attention.mhc.", fmt.Sprintf("blocks.%d.feedforward.mhc.", spec.Layers-1)
	switch {
	case p.Name == first+"alpha" || p.Name == last+"alpha":
		return 1 // of pre, post and res
	case strings.HasPrefix(p.Name, first) || strings.HasPrefix(p.Name, last):
		columns := p.Shape[len(p.Shape)-1]
		return p.Size() / columns * (columns - 2*spec.StreamSize()/spec.Width())
	case strings.HasSuffix(p.Name, ".attention.norm_bias") && len(p.Shape) == 2: // of q, k and v
		return p.Shape[1]
	case spec.FeedForward != nil && spec.FeedForward.Name() == "relu" && strings.Contains(p.Name, ".feedforward.w"):
		return p.Size() / spec.FeedForwardShape().Hidden // one neuron's
	}
	return 0
}

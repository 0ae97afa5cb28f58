package models_test

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// idle is how many entries of our streams' parameters have no gradient: mHC's mixing of the rows
// where they are all the same, at the first site, or only their sum is read, at the last; a bias of
// what keys alone are made of, which adds the same to all of a query's logits; a neuron whose ReLU
// is open for no token.
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

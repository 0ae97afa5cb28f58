package models_test

import (
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// idle returns how many entries of a parameter have no gradient, besides those that designs
// declare: a bias that only the keys use, which adds the same to all of a query's logits; and a
// neuron whose ReLU is closed for all tokens.
func idle(spec models.Spec, p *graph.Param) int {
	switch {
	case strings.HasSuffix(p.Name, ".attention.norm_bias") && len(p.Shape) == 2: // of q, k and v
		return p.Shape[1]
	case spec.FeedForward != nil && spec.FeedForward.Name() == "relu" && strings.Contains(p.Name, ".feedforward.w"):
		return p.Size() / spec.FeedForwardShape().Hidden // one neuron's
	}
	return 0
}

package layers

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// NoFeedForward is the design of a model whose blocks have only attention, on a stream that works
// without feed-forwards. It has no settings.
type NoFeedForward struct{}

// Name returns "none".
func (NoFeedForward) Name() string { return "none" }

// Card describes a model with only attention.
func (NoFeedForward) Card() Card {
	return Card{
		Title:    "Attention alone",
		Equation: "h <- h + Attention(Norm(h))   and no feed-forward",
		Source:   "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits",
		Use: "For interpretation: with the patterns of attention and the norms' scales held, the model is linear, and the logits are a sum over paths " +
			"through heads. One block has skip-trigrams; two compose heads, to induction heads.",
	}
}

// Defaults changes nothing.
func (NoFeedForward) Defaults() FeedForwardDesign { return NoFeedForward{} }

// Check returns nil.
func (NoFeedForward) Check() error { return nil }

// Shape says that there is no feed-forward.
func (NoFeedForward) Shape() FeedForwardShape { return FeedForwardShape{None: true} }

// Cost returns zero.
func (NoFeedForward) Cost(FeedForwardSizes) Cost { return Cost{} }

// New is never called, as no block has a feed-forward; it fails.
func (NoFeedForward) New(b *graph.Builder, name string, _ FeedForwardSizes) FeedForward {
	b.Fail(errors.Errorf("layers: %s: want a stream whose blocks have no feed-forward, got one that has", name))
	return nil
}

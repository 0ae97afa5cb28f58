package layers

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// ReLU2Config is the design of a feed-forward with squared ReLU.
type ReLU2Config struct {
	Hidden int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer"`
}

// Name returns "relu2".
func (ReLU2Config) Name() string { return "relu2" }

// Card describes a feed-forward with squared ReLU.
func (ReLU2Config) Card() Card {
	return Card{
		Title:    "Squared ReLU",
		Equation: "y = W2 max(W1 u + b1, 0)^2 + b2",
		Source:   "So et al. 2021 (Primer), arXiv 2109.08668; nanochat and modded-nanogpt use it",
		Use:      "GELU's place without an exponential: hidden entries that are exactly zero, and a square that lets two features multiply.",
	}
}

// Check returns an error unless the hidden layer has at least one neuron.
func (c ReLU2Config) Check() error { return CheckSize("hidden", c.Hidden) }

// Shape returns the shape of one hidden layer.
func (c ReLU2Config) Shape() FeedForwardShape { return FeedForwardShape{Hidden: c.Hidden} }

// Cost returns the cost of the two maps and of keeping the hidden layer before and after the
// square.
func (c ReLU2Config) Cost(s FeedForwardSizes) Cost { return denseCost(c.Hidden, s) }

// New makes the parameters name.w1 [In, Hidden] and name.w2 [Hidden, In].
func (c ReLU2Config) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	return newDense(b, name, c.Hidden, kernel.ReLUSquared, s)
}

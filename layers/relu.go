package layers

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// ReLUConfig is the design of a feed-forward with ReLU.
type ReLUConfig struct {
	Hidden int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer"`
}

// Name returns "relu".
func (ReLUConfig) Name() string { return "relu" }

// Card describes a feed-forward with ReLU.
func (ReLUConfig) Card() Card {
	return Card{
		Title:    "ReLU",
		Equation: "y = W2 max(W1 u + b1, 0) + b2",
		Source:   "Vaswani et al. 2017, arXiv 1706.03762, eq. 2; the activation that Elhage et al. 2021 analyse neurons with",
		Use:      "Hidden entries that are exactly zero: which neurons a token uses is a set, and given that set the feed-forward is linear.",
	}
}

// Check returns an error unless the hidden layer has at least one neuron.
func (c ReLUConfig) Check() error { return CheckSize("hidden", c.Hidden) }

// Shape returns the shape of one hidden layer.
func (c ReLUConfig) Shape() FeedForwardShape { return FeedForwardShape{Hidden: c.Hidden} }

// Cost returns the cost of the two maps and of keeping the hidden layer before and after ReLU.
func (c ReLUConfig) Cost(s FeedForwardSizes) Cost { return denseCost(c.Hidden, s) }

// New makes the parameters name.w1 [In, Hidden] and name.w2 [Hidden, In].
func (c ReLUConfig) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	return newDense(b, name, c.Hidden, kernel.ReLU, s)
}

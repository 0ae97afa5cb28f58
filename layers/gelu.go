package layers

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// GELUConfig is the design of a GELU.
type GELUConfig struct {
	Hidden int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer"`
}

// Name returns "gelu".
func (GELUConfig) Name() string { return "gelu" }

// Card describes a dense feed-forward.
func (GELUConfig) Card() Card {
	return Card{
		Title:    "Dense feed-forward",
		Equation: "y = W2 gelu(W1 u + b1) + b2",
		Source:   "Vaswani et al. 2017, with the activation of Hendrycks and Gimpel 2016, arXiv 1606.08415",
		Use:      "The baseline: every token uses every neuron.",
	}
}

// Check returns an error unless the hidden layer has at least one neuron.
func (c GELUConfig) Check() error { return CheckSize("hidden", c.Hidden) }

// Shape returns the shape of one hidden layer.
func (c GELUConfig) Shape() FeedForwardShape { return FeedForwardShape{Hidden: c.Hidden} }

// Cost returns the cost of the two maps and of keeping the hidden layer before and after GELU.
func (c GELUConfig) Cost(s FeedForwardSizes) Cost {
	return denseCost(c.Hidden, s)
}

// New makes the parameters name.w1 [In, Hidden] and name.w2 [Hidden, In].
func (c GELUConfig) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	return newDense(b, name, c.Hidden, kernel.Gelu(s.ExactGelu), s)
}

package main

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// LayerScale is the settings of our stream: those of all vector streams, and one more. Its methods
// replace methods of the embedded design where our stream differs.
type LayerScale struct {
	stream.Vectors
	Start float64 `yaml:"start" default:"0.1" help:"what each gain starts as; 1: as a plain transformer"`
}

// Name returns the kind that model.stream names.
func (LayerScale) Name() string { return "layerscale-example" }

// Card describes LayerScale.
func (LayerScale) Card() layers.Card {
	return layers.Card{
		Title:    "LayerScale",
		Equation: "h <- h + g ⊙ F(h),   g [D] learned for each sublayer",
		Source:   "Touvron et al. 2021, arXiv 2103.17239 (CaiT)",
		Use:      "Deep transformers: what a sublayer adds starts small, entry by entry, and grows as far as it is of use.",
	}
}

// Defaults sets the initial gains to 0.1, as CaiT does for up to 18 layers.
func (c LayerScale) Defaults() stream.Design {
	if c.Start == 0 {
		c.Start = 0.1
	}
	return c
}

// Check refuses a start of 0 or less and sizes that do not fit together.
func (c LayerScale) Check() error {
	if !(c.Start > 0 && c.Start <= 1) {
		return layers.Setting("start", "want above 0 and at most 1, got %g", c.Start)
	}
	return c.Vectors.Check()
}

// Cost adds the cost of the gains, two of D entries for each block, to that of a vector stream.
// Their backward pass keeps the tensors that they multiply.
func (c LayerScale) Cost() layers.Cost {
	one := layers.Cost{Parameters: float64(c.D), Activations: float64(c.D)}
	return c.Vectors.Cost().Plus(one.Times(2 * float64(c.Layers)))
}

// New makes the parameters.
func (c LayerScale) New(b *graph.Builder) stream.Stream { return newScaled(b, c) }

// Plain says that with gains of 1 the model is a plain transformer (stream.PlainAtInit).
func (c LayerScale) Plain() (stream.Design, bool) {
	return stream.VectorConfig{Vectors: c.Vectors}, c.Start == 1
}

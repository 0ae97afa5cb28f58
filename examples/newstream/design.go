package main

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// LayerScale is the settings of our stream: those of all streams of vectors, and one of its own. Its
// methods replace the methods of stream.Design in which it differs from them.
type LayerScale struct {
	stream.Vectors
	Start float64 `yaml:"start" default:"0.1" help:"what each gain starts as; 1: as a plain transformer"`
}

// Name is the kind in model.stream.
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

// Defaults starts the gains at 0.1, as CaiT does up to 18 layers.
func (c LayerScale) Defaults() stream.Design {
	if c.Start == 0 {
		c.Start = 0.1
	}
	return c
}

// Check wants a start above 0 and sizes that fit together.
func (c LayerScale) Check() error {
	if !(c.Start > 0 && c.Start <= 1) {
		return layers.Setting("start", "want above 0 and at most 1, got %g", c.Start)
	}
	return c.Vectors.Check()
}

// Cost is a vector stream's and that of the gains, which keep what they multiply: two of D entries
// a block.
func (c LayerScale) Cost() layers.Cost {
	one := layers.Cost{Parameters: float64(c.D), Activations: float64(c.D)}
	return c.Vectors.Cost().Plus(one.Times(2 * float64(c.Layers)))
}

// New makes the parameters.
func (c LayerScale) New(b *graph.Builder) stream.Stream { return newScaled(b, c) }

// Plain says that gains of 1 are a transformer (stream.PlainAtInit).
func (c LayerScale) Plain() (stream.Design, bool) {
	return stream.VectorConfig{Vectors: c.Vectors}, c.Start == 1
}

package stream

import (
	"cmp"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// VectorConfig describes a vector stream and two options.
type VectorConfig struct {
	Vectors
	LayerScale    bool   `yaml:"layerscale" help:"multiply what each sublayer adds by a learned gain for each entry, small at first"`
	EmbeddingNorm bool   `yaml:"embedding_norm" added:"false" help:"divide the embedding, with its positions, by its root mean square before the first block"`
	Smear         int    `yaml:"smear" added:"0" max:"131072" help:"add the token before's embedding, by a learned number and a gate of this many entries; 0: no"`
	Backout       bool   `yaml:"backout" added:"false" help:"subtract the stream after block L/2, times a learned number, from what the last norm reads"`
	X0            string `yaml:"x0" help:"before each block h becomes lambda h + mu h_0, h_0 the embedding: neutral starts at 1 and 0, or nanochat; empty: no"`
}

// Name returns "vector".
func (VectorConfig) Name() string { return "vector" }

// Card describes a plain transformer.
func (VectorConfig) Card() layers.Card {
	return layers.Card{
		Title: "Transformer",
		Equation: "h <- h + F(h)\n" +
			"logits = Norm(h) W_U;   options: h <- h + g ⊙ F(h), and h <- lambda h + mu h_0 before a block",
		Source: "Radford et al. 2019 (GPT-2): pre-norm blocks, output projections started at 1/sqrt(2L)",
		Use: "The baseline: one vector a token that every sublayer adds to. Fewest moving parts, most known about it, and every rate and size rule of " +
			"the literature applies. To carry more it has to grow in width, and everything else grows with that.",
	}
}

// Defaults replaces an explicit "none" for x0 by "", so that equal configs have equal values.
func (c VectorConfig) Defaults() Design {
	if c.X0 == x0None {
		c.X0 = ""
	}
	return c
}

// Check returns an error unless the sizes fit together and the option x0 is known.
func (c VectorConfig) Check() error {
	if err := c.Vectors.Check(); err != nil {
		return err
	}
	if c.Smear < 0 || c.Smear > c.D {
		return layers.Setting("smear", "want entries of the embedding, 0 to d_model %d, got %d", c.D, c.Smear)
	}
	return layers.CheckChoice("x0", cmp.Or(c.X0, x0None), x0None, x0Neutral, x0Nanochat)
}

// Shape returns the shape of a stream of one vector for each token.
func (c VectorConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Sublayers, s.Options = c.sublayers(), append(s.Options, ParallelKey)
	return s
}

// Cost returns the cost of the tables, of the maps and norms through which sublayers read and
// write, of the last norm and of the options.
func (c VectorConfig) Cost() layers.Cost { return c.Vectors.Cost().Plus(c.optionsCost()) }

// New calls NewVector.
func (c VectorConfig) New(b *graph.Builder) Stream { return NewVector(b, c) }

// Ratios compares widths and heads.
func (c VectorConfig) Ratios(base Design) Ratios {
	other, head := base.(VectorConfig), c.headDim()
	r := Unscaled(orDefault(other.HeadDim, head))
	r.WidthRatio = ratio(c.D, other.D)
	r.HeadsRatio = ratio(c.Heads, other.Heads) * ratio(head, orDefault(other.HeadDim, head))
	return r
}

// WidthScalings grows the width by adding heads of one size.
func (VectorConfig) WidthScalings() []WidthScaling {
	return []WidthScaling{{Scales: "d_model, heads and feed-forward, heads of one size", Base: VectorConfig{Vectors: Vectors{D: 64}}, Heads: 4,
		Keys: []string{"stream.d_model", headsKey, hiddenKey}}}
}

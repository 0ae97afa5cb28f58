package stream

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// Design holds a residual stream's settings: it is the struct from which a Stream is made, and all
// that a model needs to know of any stream. The struct embeds Common, or Vectors, which embeds
// Common; its own fields are the keys of model.stream in a config, with the key as their yaml tag
// and its meaning as their help tag.
type Design interface {
	// Name is the stream's kind in configs.
	Name() string
	// Card describes the stream for readers: equation, source and use.
	Card() layers.Card
	// Check returns a *layers.SettingError for the first setting that is not valid. Its key is a
	// key of the stream or, with its section, of another part of the model: attention.heads.
	Check() error
	// Shape returns what the blocks, the embedding and the unembedding of a model need to know. It
	// is meaningful only if Check returns nil.
	Shape() Shape
	// Cost returns the cost of the stream itself, including the tables and all maps that it makes.
	Cost() layers.Cost
	// New makes the stream's parameters.
	New(b *graph.Builder) Stream
}

// MuPDesign is a design for which the maximal update parametrisation is known.
type MuPDesign interface {
	Design
	// Ratios returns the sizes over the sizes of the base model, a design of the same type. A size
	// of the base that is zero stands for the design's own.
	Ratios(base Design) Ratios
	// WidthScalings lists ways to grow in width. The first one grows all sizes and has no name.
	WidthScalings() []WidthScaling
}

// WidthScaling is a small model and those of its sizes that grow together, for tests that
// activations keep their size under muP.
type WidthScaling struct {
	Name   string   // of the setting that grows by itself
	Scales string   // what grows, in words
	Base   Design   // the small model's stream
	Heads  int      // the number of heads of its attention, unless the stream sets it
	Keys   []string // settings of the model that grow, such as stream.d_model
}

// PlainAtInit is a design that at the start computes the same as a plain transformer with the same
// values of the weights that both have. The design's additional weights start at values at which
// they change nothing.
type PlainAtInit interface {
	Design
	// Plain returns that transformer's stream, or false if the settings rule it out.
	Plain() (Design, bool)
}

// PlainWeights is a PlainAtInit that equals the transformer only at certain values of the
// parameters that the transformer lacks or has in another shape. The caller copies the
// transformer's parameters that have the same name and size.
type PlainWeights interface {
	PlainAtInit
	// SetPlain writes those values into own, the Store of a model on this stream. plain is the
	// transformer's Store. Values that affect no output may stay as they are.
	SetPlain(own, plain *graph.Store) error
}

// IdleDesign is a design in which some entries of parameters have no gradient, whatever the weights
// are, because nothing depends on them.
type IdleDesign interface {
	Design
	// Idle returns how many entries of a parameter have no gradient.
	Idle(name string, shape []int) int
}

// VariantNamer is a design whose settings choose between named variants.
type VariantNamer interface {
	Design
	// Variant returns the name of the variant, such as "dynamic".
	Variant() string
}

// Common holds the settings of a model that every stream gets.
type Common struct {
	Layers, Vocab  int // Layers counts the blocks that a token passes, a loop's blocks each time
	Loop           Loop
	Heads, HeadDim int // of attention; 0: not set
	KVHeads        int // heads of keys and values, a divisor of the heads; 0: as many as heads
	Positions      int // rows of the position table; 0: none
	Norm           layers.NormConfig
	Init           layers.Init
	Bias           bool    // linear maps have biases
	Tied           bool    // the unembedding is the stream's Table, transposed
	ExactGelu      bool    // compute GELU by erf instead of tanh
	InputScale     float64 // muP multiplier of the embedding
	Dropout        float64
	Blocks         BlockOptions
	Writes         *SiteWrites // what a model does to what its sublayers write; nil: nothing
	AttentionOnly  bool        // blocks have no feed-forward; a stream that needs feed-forwards still lists it in its Shape
	Ratios
}

// SetCommon sets all of them: so a model fills in any design's struct that embeds Common.
func (c *Common) SetCommon(common Common) { *c = common }

// Ratios holds a model's sizes divided by those of its muP base. Without a base they are as
// Unscaled returns them.
type Ratios struct {
	WidthRatio  float64 // of the width of blocks
	HeadsRatio  float64 // of heads*headDim
	KeyRatio    float64 // of a matrix stream's Dk
	RankRatio   float64 // of its rank
	InnerRatio  float64 // of the stream's own hidden layer
	BaseHeadDim float64 // the base's head dimension, not a ratio
}

// Unscaled returns the ratios of a model that is its own base.
func Unscaled(headDim int) Ratios { return Ratios{1, 1, 1, 1, 1, float64(headDim)} }

// Shape is what the blocks, the embedding and the unembedding of a model need to know about a
// stream.
type Shape struct {
	Heads, HeadDim int        // of attention
	KVHeads        int        // how many heads have keys and values
	Width          int        // entries of a feed-forward's input and output
	Features       int        // entries of the features that the unembedding reads; 0: Width
	Axes           []string   // names of the features' axes, after the tokens' axis
	Size           int        // entries of a token in VectorState.H, or in whatever carries the stream: a stream of n vectors of D entries has n D
	Kept           int        // entries of a token in State.Nodes: Size, and whatever else passes from a block to later ones; 0: Size
	TableWidth     int        // entries of a row of the tables
	Sublayers      []Sublayer // sublayers of a block, in order
	AddsOutput     bool       // sublayers' outputs are added without a factor, so their last weights start smaller
	Options        []string   // keys of the BlockOptions that the stream has; a model with others is refused
}

// Has tells whether blocks have such a sublayer.
func (s Shape) Has(x Sublayer) bool { return slices.Contains(s.Sublayers, x) }

// orDefault returns a setting, or its default if it is 0.
func orDefault[T int | float64](setting, own T) T {
	if setting == 0 {
		return own
	}
	return setting
}

// ratio returns size/base, 1 without a base.
func ratio(size, base int) float64 {
	if base == 0 {
		return 1
	}
	return float64(size) / float64(base)
}

// sublayers lists the sublayers of a block, for a stream that supports blocks of attention alone.
func (c Common) sublayers() []Sublayer {
	if c.AttentionOnly {
		return []Sublayer{Attention}
	}
	return attentionAndFeedForward()
}

// attentionAndFeedForward lists the sublayers of most streams' blocks.
func attentionAndFeedForward() []Sublayer { return []Sublayer{Attention, FeedForward} }

package stream

import (
	"cmp"

	"github.com/residua-go/residua/layers"
)

// Vectors holds the settings that all streams of vectors have.
type Vectors struct {
	Common
	D int `yaml:"d_model" default:"required, or preset" max:"131072" help:"width D"`
}

// The keys of the model's settings of attention heads.
const (
	headsKey   = "attention.heads"
	headDimKey = "attention.head_dim"
)

// hiddenKey is the key of a feed-forward's width.
const hiddenKey = "feedforward.hidden"

// headDim returns the dimension of an attention head.
func (c Vectors) headDim() int {
	if c.HeadDim > 0 {
		return c.HeadDim
	}
	return c.D / max(1, c.Heads)
}

// headsWidth returns the width of all heads together, usually D.
func (c Vectors) headsWidth() int { return c.Heads * c.headDim() }

// kvHeads returns the number of heads of keys and values.
func (c Vectors) kvHeads() int { return orDefault(c.KVHeads, c.Heads) }

// qkvWidth returns the width of packed queries, keys and values.
func (c Vectors) qkvWidth() int { return (c.Heads + 2*c.kvHeads()) * c.headDim() }

// Check returns an error unless the sizes fit together.
func (c Vectors) Check() error {
	if err := cmp.Or(layers.CheckSize("d_model", c.D), layers.CheckSize(headsKey, c.Heads)); err != nil {
		return err
	}
	switch {
	case c.HeadDim < 0:
		return layers.Setting(headDimKey, "want >= 1, or 0 for d_model/heads, got %d", c.HeadDim)
	case c.HeadDim > layers.MaxSize:
		return layers.Setting(headDimKey, "want at most %d, got %d", layers.MaxSize, c.HeadDim)
	case c.HeadDim == 0 && c.D%c.Heads != 0:
		return layers.Setting(headsKey, "want a divisor of d_model %d, got %d", c.D, c.Heads)
	}
	return nil
}

// Shape returns the shape of a stream of one vector for each token.
func (c Vectors) Shape() Shape { return c.shape(c.D) }

// Cost returns the cost of the tables, of the maps and norms through which sublayers read and
// write, and of the last norm; h is kept after each sublayer.
func (c Vectors) Cost() layers.Cost { return c.sitesCost().Plus(c.lastNormCost()) }

// sitesCost returns Cost without the last norm.
func (c Vectors) sitesCost() layers.Cost {
	d, _, blocks := c.counts()
	site := c.Norm.Cost(d).Plus(layers.ActivationCost(d))
	return c.tablesCost(d).Plus(c.headsCost().Plus(site.Times(float64(len(c.sublayers())))).Times(blocks))
}

// plain returns a vector stream of these sizes and ok, for a design's Plain method.
func (c Vectors) plain(ok bool) (Design, bool) { return VectorConfig{Vectors: c}, ok }

// shape returns the shape of a stream of size entries for each token, whose tables have rows of D
// entries.
func (c Vectors) shape(size int) Shape {
	return Shape{Heads: c.Heads, HeadDim: c.headDim(), KVHeads: c.kvHeads(), Width: c.D, Axes: []string{"feature"}, Size: size, TableWidth: c.D,
		Sublayers: attentionAndFeedForward(), AddsOutput: true, Options: []string{NormsKey, ResidualScaleKey, HeadBiasesKey, ValueEmbeddingsKey}}
}

// counts returns the sizes that costs depend on: D, the width of all heads, and the number of
// blocks.
func (c Vectors) counts() (d, heads, blocks float64) {
	return float64(c.D), float64(c.Heads) * float64(c.headDim()), float64(c.Layers)
}

// tablesCost returns the cost of the embedding and the positions with rows of the given width.
func (c Vectors) tablesCost(width float64) layers.Cost {
	return layers.EmbeddingCost(float64(c.Vocab)+float64(c.Positions), width)
}

// headsCost returns the cost of the maps around one attention: W_QKV and W_O.
func (c Vectors) headsCost() layers.Cost {
	d, heads, _ := c.counts()
	qkv, output := c.biases()
	return layers.LinearCost(d, float64(c.qkvWidth()), qkv).Plus(layers.LinearCost(heads, d, output))
}

// sublayersCost returns the cost of a block's maps around its attention and of the norms before its
// two sublayers.
func (c Vectors) sublayersCost() layers.Cost {
	return c.headsCost().Plus(c.Norm.Cost(float64(c.D)).Times(2))
}

// lastNormCost returns the cost of the norm at the end. It keeps its input, but not its result:
// that goes into the loss, which makes its gradients in the same pass.
func (c Vectors) lastNormCost() layers.Cost { return c.Norm.Cost(float64(c.D)) }

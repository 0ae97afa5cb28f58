package models

import "math"

// Cost is what a model takes, in closed form; tests compare it with the built graph.
type Cost struct {
	Parameters int `json:"parameters"` // all of them
	Embedding  int `json:"embedding"`  // embedding, positions and unembedding tables
	// ForwardFLOPs are the matrix products a token in a row of Seq tokens, 2 per
	// multiply-add, causal attention at its true half, gathers 0, loss included.
	ForwardFLOPs int `json:"forward_flops"`
	StreamSize   int `json:"stream_size"` // entries of a token's residual stream
	// ActivationBytes are the float32 tensors a token that training keeps for the
	// backward pass, without recomputation.
	ActivationBytes int `json:"activation_bytes"`
}

// TrainFLOPs are a token's forward and backward FLOPs, the backward pass counted twice
// the forward.
func (c Cost) TrainFLOPs() int { return 3 * c.ForwardFLOPs }

// Cost returns the model's cost.
func (c Config) Cost() Cost {
	c = c.Resolve()
	if c.Stream == StreamMatrix {
		return c.matrixCost()
	}
	return c.vectorCost()
}

// sizes are a config's numbers as float64: exact up to 2^53, and beyond that too large to
// matter, where products of int would come out small again.
type sizes struct {
	layers, d, dk, dv, rank, ff, vocab, seq, n, m, inner, experts, topK float64
	heads, width, stream                                                float64 // of all heads; of features; of the stream
}

func (c Config) sizes() sizes {
	f := func(n int) float64 { return float64(n) }
	return sizes{
		layers: f(c.Layers), d: f(c.DModel), dk: f(c.Dk), dv: f(c.Dv), rank: f(c.Rank), ff: f(c.FF), vocab: f(c.Vocab), seq: f(c.Seq),
		n: f(c.N), m: f(c.M), inner: f(c.Inner), experts: f(c.Experts), topK: f(c.TopK),
		heads: f(c.HeadCount()) * f(c.HeadDim()), width: f(c.Width()), stream: f(c.StreamSize()),
	}
}

// whole is the int that a count is, the largest one for all that are beyond.
func whole(n float64) int {
	if n >= math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// attentionFLOPs are q.k and the mixing of values a token: of N tokens the i-th sees i,
// (N+1)/2 on average.
func (c Config) attentionFLOPs() float64 { return 2 * c.sizes().heads * (c.sizes().seq + 1) }

// tables are the embedding, position and unembedding entries.
func (c Config) tables() float64 {
	z := c.sizes()
	n := (z.vocab + float64(c.positionRows())) * float64(c.embeddingWidth())
	if !c.TieEmbeddings {
		n += z.vocab * z.width
	}
	return n
}

// embeddingWidth is the size of an embedding's row: Width, but for a virtual width network
// that embeds all of its stream.
func (c Config) embeddingWidth() int {
	if c.Stream == StreamVWN && !c.ExpandEmbedding {
		return c.StreamSize()
	}
	return c.Width()
}

// float32Bytes is the size of an activation entry.
const float32Bytes = 4

// matrixCost is the RMT's (paper Table 7, with its sums corrected): keys 3 R Dk (2L+1),
// feed-forward 2 R Dv FF a block, gains (2L+1) Dk Dv. Stores and reads cost 2 R Dk Dv
// each: 3+1 at an attention, 1+1 at a feed-forward, 1 at the embedding, the positions
// and the end.
func (c Config) matrixCost() Cost {
	z := c.sizes()
	forward := c.feedForwardCost(z.width).times(z.layers)
	gains, biases := (2*z.layers+1)*z.stream, 0.0
	if c.Bias {
		biases = gains
	}
	inputs := 1.0 // stores at the embedding
	if c.Positions == PositionsLearned {
		inputs = 2
	}
	keys := (6*z.layers + inputs + 1) * z.rank * z.dk
	return c.cost(costs{
		parameters:  c.tables() + forward.parameters + keys + gains + biases,
		flops:       2*keys*z.dv + forward.flops + z.layers*c.attentionFLOPs() + 2*z.width*z.vocab,
		activations: c.matrixActivations(inputs) + forward.activations,
	})
}

// cost is a Cost of the whole model's sums.
func (c Config) cost(total costs) Cost {
	return Cost{
		Parameters:      whole(total.parameters),
		Embedding:       whole(c.tables()),
		ForwardFLOPs:    whole(total.flops),
		StreamSize:      c.StreamSize(),
		ActivationBytes: whole(float32Bytes * total.activations),
	}
}

// matrixActivations are the entries kept a token, without the feed-forward's. A block: X
// at both sites, qkv, the heads' output, u, y. At the ends: the rows of each of the inputs'
// tables, and X (the loss's own pass uses the features).
func (c Config) matrixActivations(inputs float64) float64 {
	z := c.sizes()
	n := z.layers*(2*z.stream+6*z.width) + inputs*z.width + z.stream
	if c.Bias {
		n += (2*z.layers + 1) * z.stream // a norm with a bias is not fused with its read
	}
	if c.Dropout > 0 {
		n += z.layers * z.width // the heads' output after dropout
	}
	return n
}

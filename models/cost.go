package models

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

// attentionFLOPs are q.k and the mixing of values a token: of N tokens the i-th sees i,
// (N+1)/2 on average.
func (c Config) attentionFLOPs() int { return 2 * c.HeadCount() * c.HeadDim() * (c.Seq + 1) }

// tables are the embedding, position and unembedding entries.
func (c Config) tables() int {
	n := (c.Vocab + c.positionRows()) * c.embeddingWidth()
	if !c.TieEmbeddings {
		n += c.Vocab * c.Width()
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
	l, dk, dv, r, v := c.Layers, c.Dk, c.Dv, c.Rank, c.Vocab
	tables, width := c.tables(), r*dv
	forward := c.feedForwardCost(width).times(l)
	gains, biases := (2*l+1)*dk*dv, 0
	if c.Bias {
		biases = gains
	}
	inputs := 1 // stores at the embedding
	if c.Positions == PositionsLearned {
		inputs = 2
	}
	keys := (6*l + inputs + 1) * r * dk
	return Cost{
		Parameters:      tables + forward.parameters + keys + gains + biases,
		Embedding:       tables,
		ForwardFLOPs:    2*keys*dv + forward.flops + l*c.attentionFLOPs() + 2*width*v,
		StreamSize:      dk * dv,
		ActivationBytes: float32Bytes * (c.matrixActivations(inputs) + forward.activations),
	}
}

// matrixActivations are the entries kept a token, without the feed-forward's. A block: X
// at both sites, qkv, the heads' output, u, y. At the ends: the rows of each of the inputs'
// tables, and X (the loss's own pass uses the features).
func (c Config) matrixActivations(inputs int) int {
	l, x, width := c.Layers, c.Dk*c.Dv, c.Rank*c.Dv
	n := l*(2*x+3*width+width+width+width) + inputs*width + x
	if c.Bias {
		n += (2*l + 1) * x // a norm with a bias is not fused with its read
	}
	if c.Dropout > 0 {
		n += l * width // the heads' output after dropout
	}
	return n
}

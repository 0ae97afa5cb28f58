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
	if c.Stream == StreamVector {
		return c.vectorCost()
	}
	return c.matrixCost()
}

// attentionFLOPs are q.k and the mixing of values a token: of N tokens the i-th sees i,
// (N+1)/2 on average.
func (c Config) attentionFLOPs() int { return 2 * c.HeadCount() * c.HeadDim() * (c.Seq + 1) }

// tables are the embedding, position and unembedding entries.
func (c Config) tables() int {
	n := c.Vocab * c.Width()
	if !c.TieEmbeddings {
		n *= 2
	}
	return n + c.positionRows()*c.Width()
}

// float32Bytes is the size of an activation entry.
const float32Bytes = 4

// vectorCost is GPT-2's: 4 D W + 2 D FF a block, where W, all heads together, is D.
func (c Config) vectorCost() Cost {
	l, d, ff, v := c.Layers, c.DModel, c.FF, c.Vocab
	tables, w := c.tables(), c.HeadCount()*c.HeadDim()
	block := 4*d*w + 2*d*ff
	norms, biases := (2*l+1)*d, 0
	if c.Bias {
		biases = norms + l*(3*w+d+ff+d)
	}
	// Kept a block: h and its norm at both sites, qkv, the heads' output, the hidden
	// layer before and after GELU. At the end: h (the loss's own pass uses the features).
	activations := l*(2*d+2*d+3*w+w+2*ff) + d
	return Cost{
		Parameters:      tables + l*block + norms + biases,
		Embedding:       tables,
		ForwardFLOPs:    2*l*block + l*c.attentionFLOPs() + 2*d*v,
		StreamSize:      d,
		ActivationBytes: float32Bytes * activations,
	}
}

// matrixCost is the RMT's (paper Table 7, with its sums corrected): keys 3 R Dk (2L+1),
// feed-forward 2 R Dv FF a block, gains (2L+1) Dk Dv. Stores and reads cost 2 R Dk Dv
// each: 3+1 at an attention, 1+1 at a feed-forward, 1 at the embedding, the positions
// and the end.
func (c Config) matrixCost() Cost {
	l, dk, dv, r, ff, v := c.Layers, c.Dk, c.Dv, c.Rank, c.FF, c.Vocab
	tables, width := c.tables(), r*dv
	gains, biases := (2*l+1)*dk*dv, 0
	if c.Bias {
		biases = gains + l*(ff+width)
	}
	inputs := 1 // stores at the embedding
	if c.Positions == PositionsLearned {
		inputs = 2
	}
	keys := (6*l + inputs + 1) * r * dk
	return Cost{
		Parameters:      tables + l*2*width*ff + keys + gains + biases,
		Embedding:       tables,
		ForwardFLOPs:    2*keys*dv + l*4*width*ff + l*c.attentionFLOPs() + 2*width*v,
		StreamSize:      dk * dv,
		ActivationBytes: float32Bytes * c.matrixActivations(inputs),
	}
}

// matrixActivations are the entries kept a token. A block: X at both sites, qkv, the
// heads' output, u, the hidden layer before and after GELU, y. At the ends: the rows of
// each of the inputs' tables, and X (the loss's own pass uses the features).
func (c Config) matrixActivations(inputs int) int {
	l, x, width := c.Layers, c.Dk*c.Dv, c.Rank*c.Dv
	n := l*(2*x+3*width+width+width+2*c.FF+width) + inputs*width + x
	if c.Bias {
		n += (2*l + 1) * x // a norm with a bias is not fused with its read
	}
	if c.Dropout > 0 {
		n += l * width // the heads' output after dropout
	}
	return n
}

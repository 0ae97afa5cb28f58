package layers

// Cost counts what a part of a model takes, in closed form; a model's cost is the sum over its
// parts. The part that makes a parameter counts it. The counts are floats, which are exact up to
// 2^53 and stay large beyond that, where products of ints would overflow.
type Cost struct {
	Parameters float64 // all of them
	Tables     float64 // of Parameters: embedding, positions and unembedding
	FLOPs      float64 // forward, for each token: matrix products, 2 for each multiply-add
	// Activations counts the entries for each token that training keeps for the backward pass.
	Activations float64
}

// Plus returns the sum of a and others.
func (a Cost) Plus(others ...Cost) Cost {
	for _, b := range others {
		a = Cost{a.Parameters + b.Parameters, a.Tables + b.Tables, a.FLOPs + b.FLOPs, a.Activations + b.Activations}
	}
	return a
}

// WithParameters returns a with the Parameters and Tables of b.
func (a Cost) WithParameters(b Cost) Cost {
	return Cost{b.Parameters, b.Tables, a.FLOPs, a.Activations}
}

// Times returns the cost of n parts that cost a each.
func (a Cost) Times(n float64) Cost {
	return Cost{n * a.Parameters, n * a.Tables, n * a.FLOPs, n * a.Activations}
}

// ActivationCost returns the cost of keeping an activation of n entries, and nothing else.
func ActivationCost(n float64) Cost { return Cost{Activations: n} }

// LinearCost returns the cost of a linear map: its parameters and products. It keeps no
// activations.
func LinearCost(in, out float64, bias bool) Cost {
	c := Cost{Parameters: in * out, FLOPs: 2 * in * out}
	if bias {
		c.Parameters += out
	}
	return c
}

// Cost returns the cost of a norm over n entries, which keeps its result.
func (c NormConfig) Cost(n float64) Cost {
	cost := Cost{Parameters: n, Activations: n}
	if c.Bias {
		cost.Parameters += n
	}
	return cost
}

// EmbeddingCost returns the cost of a table with rows of width entries.
func EmbeddingCost(rows, width float64) Cost {
	return Cost{Parameters: rows * width, Tables: rows * width}
}

// UnembeddingCost returns the cost of computing the logits from the features. A tied table is
// counted with the embedding, not here.
func UnembeddingCost(features, vocab float64, tied bool) Cost {
	c := Cost{FLOPs: 2 * features * vocab}
	if !tied {
		c = c.Plus(EmbeddingCost(features, vocab))
	}
	return c
}

// attentionCost returns the cost of q.k and of mixing the values for one token, which keeps q,
// k, v and the heads' output. heads is the width of all query heads together, kv the width of
// all key heads together, and seen the mean number of tokens that a token sees: (seq+1)/2 in
// rows of seq tokens.
func attentionCost(heads, kv, seen float64) Cost {
	return Cost{FLOPs: 4 * heads * seen, Activations: 2*heads + 2*kv}
}

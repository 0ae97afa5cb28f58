package layers

// Cost is what a part of a model takes, in closed form; a model's is the sum over its parts.
// Whatever makes a parameter counts it. The counts are exact up to 2^53, and beyond that too
// large to matter, where products of int would come out small again.
type Cost struct {
	Parameters float64 // all of them
	Tables     float64 // of Parameters: embedding, positions and unembedding
	FLOPs      float64 // forward, a token: matrix products, 2 per multiply-add
	// Activations are the entries a token that training keeps for the backward pass.
	Activations float64
}

// Plus is the cost of all.
func (a Cost) Plus(others ...Cost) Cost {
	for _, b := range others {
		a = Cost{a.Parameters + b.Parameters, a.Tables + b.Tables, a.FLOPs + b.FLOPs, a.Activations + b.Activations}
	}
	return a
}

// WithParameters is the cost with the parameters of another.
func (a Cost) WithParameters(b Cost) Cost {
	return Cost{b.Parameters, b.Tables, a.FLOPs, a.Activations}
}

// Times is the cost of n such parts.
func (a Cost) Times(n float64) Cost {
	return Cost{n * a.Parameters, n * a.Tables, n * a.FLOPs, n * a.Activations}
}

// ActivationCost is the cost of an activation of n entries that is kept, alone.
func ActivationCost(n float64) Cost { return Cost{Activations: n} }

// LinearCost is that of a linear map: its parameters and products, nothing that is kept.
func LinearCost(in, out float64, bias bool) Cost {
	c := Cost{Parameters: in * out, FLOPs: 2 * in * out}
	if bias {
		c.Parameters += out
	}
	return c
}

// Cost is that of a norm over n entries, whose result is kept.
func (c NormConfig) Cost(n float64) Cost {
	cost := Cost{Parameters: n, Activations: n}
	if c.Bias {
		cost.Parameters += n
	}
	return cost
}

// EmbeddingCost is that of a table of rows of width entries.
func EmbeddingCost(rows, width float64) Cost {
	return Cost{Parameters: rows * width, Tables: rows * width}
}

// UnembeddingCost is that of the logits of features; a tied table is the embedding's to count.
func UnembeddingCost(features, vocab float64, tied bool) Cost {
	c := Cost{FLOPs: 2 * features * vocab}
	if !tied {
		c = c.Plus(EmbeddingCost(features, vocab))
	}
	return c
}

// AttentionCost is that of heads of the given width together, for a token that sees so many on average,
// (seq+1)/2 of rows of seq tokens: q.k and the mixing of values; kv is the width of
// the heads of keys. It keeps q, k, v and the heads' output.
func AttentionCost(heads, kv, seen float64) Cost {
	return Cost{FLOPs: 4 * heads * seen, Activations: 2*heads + 2*kv}
}

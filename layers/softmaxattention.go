package layers

import "github.com/residua-go/residua/graph"

// SoftmaxAttention is the design of attention over all earlier tokens. It has no settings.
type SoftmaxAttention struct{}

// DefaultAttention returns the attention of a model that names no kind.
func DefaultAttention() AttentionDesign { return SoftmaxAttention{} }

// Name returns "softmax".
func (SoftmaxAttention) Name() string { return "softmax" }

// Card describes causal softmax attention.
func (SoftmaxAttention) Card() Card {
	return Card{
		Title:    "Softmax attention",
		Equation: "o_i = sum over j <= i of softmax_j(scale q_i . k_j) v_j",
		Source:   "Vaswani et al. 2017, arXiv 1706.03762",
		Use:      "The default of every stream. Each token sees all tokens of its document up to itself: FLOPs a token and the cache grow with the row.",
	}
}

// Check returns nil.
func (SoftmaxAttention) Check(int) error { return nil }

// Exceptions returns nil: all layers are alike.
func (SoftmaxAttention) Exceptions() []int { return nil }

// Cost counts the products, QK-norm and a value residual.
func (SoftmaxAttention) Cost(c AttentionConfig, seq float64) Cost { return c.Cost(seq) }

// CacheEntries counts the keys and values.
func (SoftmaxAttention) CacheEntries(c AttentionConfig) int { return c.CacheEntries() }

// New makes a CausalAttention.
func (SoftmaxAttention) New(b *graph.Builder, name string, c AttentionConfig) Attention {
	return NewAttention(b, name, c)
}

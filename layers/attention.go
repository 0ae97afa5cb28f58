package layers

import (
	"cmp"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
)

// Attention is the mixing of values between tokens: it takes packed queries, keys and
// values and returns the heads' outputs. Its parameters are those of QK-norm and of a value
// residual: how q, k and v come out of the stream, and how o goes back into it, is the stream's
// business.
type Attention struct {
	b       *graph.Builder
	name    string
	options attention.Options
	prepare attention.Preparation
	values  *ValueResidual
	first   bool
}

// AttentionConfig describes one block's attention.
type AttentionConfig struct {
	Heads    int
	KVHeads  int // heads of keys and values; 0: Heads
	HeadDim  int
	Scale    float64 // of q.k, with 1/sqrt(Dh), 1/(layer+1) and muP multipliers folded in
	ALiBi    bool    // bias by distance
	RopeBase float64 // rotary positions; 0: none
	Rope     RopeScaling
	QKNorm   bool    // RMSNorm of queries and keys, head by head, before rotary positions
	NormEps  float64 // its eps
	// Values, where not nil, is what all attentions of a model share; that of the first of them has First.
	Values *ValueResidual
	First  bool
}

// ValueResidual is the way of the first attention's values v_0 to all later ones, which mix them
// into their own (Zhou et al. 2024, arXiv 2410.17897, ResFormer):
//
//	v <- lambda_1 v + lambda_2 v_0
//
// with 0.5 and 0.5, or where Learned with two parameters an attention that start there. The attentions
// of a model share one, each of which has to run after the first.
type ValueResidual struct {
	Learned bool
	first   *gorgonia.Node // [T, KV*Dh]
}

// Cost is that of an attention in rows of seq tokens.
func (c AttentionConfig) Cost(seq float64) Cost {
	dim, heads, kv := float64(c.HeadDim), float64(c.Heads), float64(cmp.Or(c.KVHeads, c.Heads))
	cost := AttentionCost(heads*dim, kv*dim, seq)
	learned := c.Values != nil && c.Values.Learned && !c.First
	if c.QKNorm {
		cost.Parameters += 2 * dim
	}
	if learned {
		cost.Parameters += 2
	}
	if c.QKNorm || learned { // what comes in is kept, too
		cost.Activations += (heads + 2*kv) * dim
	}
	if c.Values != nil && c.Values.Learned && c.First {
		cost.Activations += kv * dim
	}
	return cost
}

// alibiSlopes returns the slopes 2^(-8h/H), h = 1..H (Press et al. 2022, as in the RMT
// authors' code, for any H).
func alibiSlopes(heads int) []float64 {
	slopes := make([]float64, heads)
	for h := range slopes {
		slopes[h] = math.Pow(2, -8*float64(h+1)/float64(heads))
	}
	return slopes
}

// NewAttention makes the attention called name; its parameters are name.q_norm and name.k_norm [Dh],
// and name.value_residual [2].
func NewAttention(b *graph.Builder, name string, c AttentionConfig) *Attention {
	a := &Attention{b: b, name: name, options: attention.Options{Heads: c.Heads, KVHeads: c.KVHeads, Scale: c.Scale, RopeBase: c.RopeBase, Stretch: c.Rope.Stretch(c.RopeBase, c.HeadDim)}}
	if c.ALiBi {
		a.options.Slopes = alibiSlopes(c.Heads)
	}
	a.prepare = attention.Preparation{Heads: c.Heads, KVHeads: c.KVHeads, Eps: c.NormEps}
	if c.QKNorm {
		a.prepare.QueryGain, a.prepare.KeyGain = b.Param(Gain(name+".q_norm", c.HeadDim)), b.Param(Gain(name+".k_norm", c.HeadDim))
	}
	if a.values, a.first = c.Values, c.First; a.values != nil && a.values.Learned && !a.first {
		a.prepare.Weights = b.Param(graph.ParamSpec{Name: name + ".value_residual", Shape: []int{2}, Init: graph.Initializer{Offset: 0.5}})
	}
	return a
}

// Forward attends: qkv [T, (H+2*KV)*Dh] -> o [T, H, Dh]. seq is the number of tokens a row;
// starts are the document starts, or nil. Where name.pattern is hooked, the
// probabilities [T, H, seq] (query, head, the key's index in its row) exist and o is made
// of them; a generation's cache refuses that.
func (a *Attention) Forward(qkv *gorgonia.Node, seq int, starts *gorgonia.Node) *gorgonia.Node {
	o := a.options
	o.Seq, o.Starts = seq, starts
	qkv = a.b.Hook(a.name+".qkv", qkv, qkvAxes(qkv)...) // [T, (H+2*KV)*Dh]
	return a.b.Hook(a.name+".heads", a.attend(a.prepared(qkv), o), "head", "value")
}

// prepared are queries, keys and values as attention uses them.
func (a *Attention) prepared(qkv *gorgonia.Node) *gorgonia.Node {
	o := a.prepare
	if a.values != nil && !a.first {
		o.First = a.values.first
	}
	if o.QueryGain != nil || a.values != nil && !a.first {
		qkv = attention.Prepare(a.b, qkv, o)
	}
	if a.values != nil && a.first {
		a.values.first = attention.Values(a.b, qkv, o.Heads, o.KVHeads)
	}
	return qkv
}

// attend is causal attention, in one pass unless the pattern is hooked.
func (a *Attention) attend(qkv *gorgonia.Node, o attention.Options) *gorgonia.Node {
	pattern := a.name + ".pattern"
	if !a.b.Hooked(pattern) {
		return attention.Causal(a.b, qkv, o) // [T, H, Dh]
	}
	p := a.b.Hook(pattern, attention.Pattern(a.b, qkv, o), "head", "key") // [T, H, seq]
	return attention.Mix(a.b, p, qkv, o)
}

// qkvAxes names the axes of packed queries, keys and values.
func qkvAxes(qkv *gorgonia.Node) []string {
	switch {
	case qkv == nil:
	case qkv.Shape().Dims() == 3:
		return []string{"head", "value"}
	case qkv.Shape().Dims() == 4:
		return []string{"qkv", "head", "value"}
	}
	return []string{"feature"}
}

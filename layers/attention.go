package layers

import (
	"cmp"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/shape"
)

// AttentionDesign holds the settings of a kind of attention: it is the struct from which the
// Attention of each layer is made. The struct's fields are the keys of model.attention that this
// kind has in a config, with the key as their yaml tag and its meaning as their help tag. Heads,
// positions and so on are keys of every kind and are in an AttentionConfig. A design of your own
// may embed SoftmaxAttention.
type AttentionDesign interface {
	// Name is the attention's kind in configs.
	Name() string
	// Card describes the attention for readers: equation, source and use.
	Card() Card
	// Check returns a *SettingError for the first setting that a model of that many layers cannot
	// have.
	Check(layers int) error
	// Exceptions lists the layers that differ from the others, in rising order; nil if all are
	// alike.
	Exceptions() []int
	// Cost returns the cost of one layer's attention in rows of seq tokens.
	Cost(c AttentionConfig, seq float64) Cost
	// CacheEntries returns how many entries generation keeps for each token and layer.
	CacheEntries(c AttentionConfig) int
	// New makes the attention of one layer; the names of its parameters start with name.
	New(b *graph.Builder, name string, c AttentionConfig) Attention
}

// Attention mixes values between tokens in one layer. The stream decides how q, k and v are read
// from it and how o is written back.
type Attention interface {
	// Forward maps packed queries, keys and values, qkv [T, (H+2*KV)*Dh], to the heads' outputs [T,
	// H, Dh]. seq is the number of tokens in a row; starts [T] are the document starts, or nil.
	Forward(qkv *gorgonia.Node, seq int, starts *gorgonia.Node) *gorgonia.Node
}

// CausalAttention is softmax attention in which a token sees its document from the beginning to
// itself (attention.Causal). It has parameters if it has QK-norm or a value residual.
type CausalAttention struct {
	// PerHead, if not nil, maps the heads' outputs [T, H, Dh] linearly, each head separately. If
	// the pattern [T, H, seq] is hooked, PerHead maps the pattern instead, so that outputs are sums
	// of values weighted by what the hook sees.
	PerHead func(heads *gorgonia.Node) *gorgonia.Node

	b       *graph.Builder
	name    string
	config  AttentionConfig
	options attention.Options
	prepare attention.Preparation
	values  *ValueResidual
	first   bool
}

// AttentionConfig describes one block's attention.
type AttentionConfig struct {
	Layer     int // from 0
	Heads     int
	KVHeads   int // heads of keys and values; 0: Heads
	HeadDim   int
	Scale     float64 // factor of q.k: 1/sqrt(Dh), 1/(layer+1) and muP multipliers multiplied together
	ALiBi     bool    // bias by distance
	RopeBase  float64 // rotary positions; 0: none
	RopePart  float64 // share of the pairs that rotate; 0: all
	Rope      RopeScaling
	SoftCap   float64 // bounds Scale q.k; 0: no cap
	Window    int     // number of tokens that a token sees, including itself; 0: all before it
	Sinks     int     // with Window: number of first tokens of its document, or row, that are also seen
	QKNorm    bool    // RMSNorm of queries and keys, head by head, before rotary positions
	QKNormRow bool    // with QKNorm: over all heads together
	NormEps   float64 // added in QKNorm
	// Values, if not nil, is shared by all attentions of a model. First is true for the first of
	// them.
	Values *ValueResidual
	First  bool
}

// ValueResidual carries the first attention's values v_0 to all later attentions, which mix them
// into their own (Zhou et al. 2024, arXiv 2410.17897, ResFormer):
//
//	v <- lambda_1 v + lambda_2 v_0
//
// with lambda_1 = lambda_2 = 0.5 or, if Learned, with two parameters in each attention that start
// there. All attentions of a model share one ValueResidual, and the first attention has to run
// before the others.
type ValueResidual struct {
	Learned bool
	first   *gorgonia.Node // [T, KV*Dh]
}

// Cost returns the cost of one layer's attention in rows of seq tokens.
func (c AttentionConfig) Cost(seq float64) Cost {
	dim, heads, kv := float64(c.HeadDim), float64(c.Heads), float64(cmp.Or(c.KVHeads, c.Heads))
	cost := attentionCost(heads*dim, kv*dim, c.seen(seq))
	learned := c.Values != nil && c.Values.Learned && !c.First
	if c.QKNorm {
		queries, keys := c.normedSizes()
		cost.Parameters += float64(queries + keys)
	}
	if learned {
		cost.Parameters += 2
	}
	if c.QKNorm || learned { // the input is kept, too
		cost.Activations += (heads + 2*kv) * dim
	}
	if c.Values != nil && c.Values.Learned && c.First {
		cost.Activations += kv * dim
	}
	return cost
}

// normedSizes returns how many entries of queries and of keys QK-norm takes together: those of a
// head, or of all heads.
func (c AttentionConfig) normedSizes() (queries, keys int) {
	if !c.QKNormRow {
		return c.HeadDim, c.HeadDim
	}
	return c.Heads * c.HeadDim, cmp.Or(c.KVHeads, c.Heads) * c.HeadDim
}

// seen returns the mean number of tokens, including itself, that a token sees in a row of seq
// tokens.
func (c AttentionConfig) seen(seq float64) float64 {
	if c.Window == 0 {
		return (seq + 1) / 2
	}
	p := kernel.AttentionParams{Seq: int(seq), Window: c.Window, Sinks: c.Sinks}
	return float64(p.Visible()) / seq
}

// CacheEntries returns the number of entries of a token's keys and values.
func (c AttentionConfig) CacheEntries() int { return 2 * cmp.Or(c.KVHeads, c.Heads) * c.HeadDim }

// alibiSlopes returns the slopes 2^(-8h/H), h = 1..H (Press et al. 2022, as in the RMT
// authors' code, for any H).
func alibiSlopes(heads int) []float64 {
	slopes := make([]float64, heads)
	for h := range slopes {
		slopes[h] = math.Pow(2, -8*float64(h+1)/float64(heads))
	}
	return slopes
}

// NewAttention makes the attention called name; its parameters are name.q_norm and name.k_norm
// [Dh], or [H*Dh] and [KV*Dh] with QKNormRow, and name.value_residual [2].
func NewAttention(b *graph.Builder, name string, c AttentionConfig) *CausalAttention {
	a := &CausalAttention{b: b, name: name, config: c, options: attention.Options{Heads: c.Heads, KVHeads: c.KVHeads, Scale: c.Scale, RopeBase: c.RopeBase,
		SoftCap: c.SoftCap, Window: c.Window, Sinks: c.Sinks}}
	if c.ALiBi {
		a.options.Slopes = alibiSlopes(c.Heads)
	}
	a.prepare = attention.Preparation{Heads: c.Heads, KVHeads: c.KVHeads, Eps: c.NormEps}
	if c.QKNorm {
		queries, keys := c.normedSizes()
		a.prepare.QueryGain, a.prepare.KeyGain = b.Param(Gain(name+".q_norm", queries)), b.Param(Gain(name+".k_norm", keys))
	}
	if a.values, a.first = c.Values, c.First; a.values != nil && a.values.Learned && !a.first {
		a.prepare.Weights = b.Param(graph.ParamSpec{Name: name + ".value_residual", Shape: []int{2}, Init: graph.Initializer{Offset: 0.5}})
	}
	return a
}

// Forward attends: qkv [T, (H+2*KV)*Dh] -> o [T, H, Dh]. seq is the number of tokens in a row;
// starts are the document starts, or nil. Hooks name.q, .k and .v see queries, keys and values
// [T, H, Dh] after QK-norm and value residual. Further hooks make Forward compute attention in
// several passes, which a generation's cache does not allow (an error): name.pattern sees the
// probabilities [T, H, seq] (query, head, the key's index in its row), from which o is then made;
// name.scores sees their logits, before the softmax; name.q_rotated and .k_rotated, which exist
// only with rotary positions, see queries and keys after the rotation.
func (a *CausalAttention) Forward(qkv *gorgonia.Node, seq int, starts *gorgonia.Node) *gorgonia.Node {
	o := a.options
	o.Seq, o.Starts = seq, starts
	if cache := a.b.Cache(); cache != nil {
		seq = cache.Capacity()
	}
	o.Stretch = a.config.stretch(seq)
	qkv = a.b.Hook(a.name+".qkv", qkv, qkvAxes(qkv)...) // [T, (H+2*KV)*Dh]
	return a.b.Hook(a.name+".heads", a.attend(a.prepared(qkv), o), "head", "value")
}

// prepared returns queries, keys and values as attention uses them.
func (a *CausalAttention) prepared(qkv *gorgonia.Node) *gorgonia.Node {
	o := a.prepare
	if a.values != nil && !a.first {
		o.First = a.values.first
	}
	if o.QueryGain != nil || a.values != nil && !a.first {
		qkv = attention.Prepare(a.b, qkv, o)
	}
	if names := []string{"q", "k", "v"}; a.hooksAny(names) {
		qkv = a.hookParts(qkv, names)
	}
	if a.values != nil && a.first {
		a.values.first = attention.Values(a.b, qkv, o.Heads, o.KVHeads)
	}
	return qkv
}

// attend computes causal attention, in one pass unless a stage of it is hooked.
func (a *CausalAttention) attend(qkv *gorgonia.Node, o attention.Options) *gorgonia.Node {
	if names := []string{"q_rotated", "k_rotated"}; o.RopeBase != 0 && a.hooksAny(names) {
		qkv = a.hookParts(attention.Rotate(a.b, qkv, o), names)
		o.RopeBase = 0
	}
	pattern, scores := a.name+".pattern", a.name+".scores"
	wanted, scored := a.b.Hooked(pattern), a.b.Hooked(scores)
	if !wanted && !scored {
		return a.perHead(attention.Causal(a.b, qkv, o)) // [T, H, Dh]
	}
	p := (*gorgonia.Node)(nil) // [T, H, seq]
	if scored {
		p = attention.Softmax(a.b, a.b.Hook(scores, attention.Scores(a.b, qkv, o), "head", "key"), o)
	} else {
		p = attention.Pattern(a.b, qkv, o)
	}
	return attention.Mix(a.b, a.b.Hook(pattern, a.perHead(p), "head", "key"), qkv, o)
}

// hooksAny tells whether one of the attention's activations is hooked.
func (a *CausalAttention) hooksAny(names []string) bool {
	hooked := false
	for _, name := range names {
		hooked = a.b.Hooked(a.name+"."+name) || hooked // in any case, so that each is known
	}
	return hooked
}

// hookParts takes queries, keys and values apart, calls the hooks of those that have names, and
// packs them again.
func (a *CausalAttention) hookParts(qkv *gorgonia.Node, names []string) *gorgonia.Node {
	if qkv == nil || a.b.Err() != nil {
		return qkv
	}
	kv := cmp.Or(a.options.KVHeads, a.options.Heads)
	dim := graph.SignatureOf(qkv).Width() / (a.options.Heads + 2*kv)
	var parts gorgonia.Nodes
	for i, heads := range []int{a.options.Heads, kv, kv} {
		from := dim * []int{0, a.options.Heads, a.options.Heads + kv}[i]
		part := shape.Reshape(a.b, shape.Slice(a.b, qkv, from, from+heads*dim), heads, dim) // [T, heads, Dh]
		if i < len(names) {
			part = a.b.Hook(a.name+"."+names[i], part, "head", "value")
		}
		parts = append(parts, part)
	}
	return shape.Reshape(a.b, shape.Concat(a.b, parts...), qkv.Shape()[1:]...)
}

// perHead applies PerHead, if there is one.
func (a *CausalAttention) perHead(x *gorgonia.Node) *gorgonia.Node {
	if a.PerHead == nil || x == nil {
		return x
	}
	return a.PerHead(x)
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

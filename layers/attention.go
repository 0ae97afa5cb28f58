package layers

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
)

// Attention is the mixing of values between tokens: it takes packed queries, keys and
// values and returns the heads' outputs. It has no parameters: how q, k and v come out
// of the stream, and how o goes back into it, is the stream's business.
type Attention struct {
	b       *graph.Builder
	name    string
	options attention.Options
}

// AttentionConfig describes one block's attention.
type AttentionConfig struct {
	Heads    int
	KVHeads  int     // heads of keys and values; 0: Heads
	Scale    float64 // of q.k, with 1/sqrt(Dh), 1/(layer+1) and muP multipliers folded in
	ALiBi    bool    // bias by distance
	RopeBase float64 // rotary positions; 0: none
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

// NewAttention makes the attention called name.
func NewAttention(b *graph.Builder, name string, c AttentionConfig) *Attention {
	a := &Attention{b: b, name: name, options: attention.Options{Heads: c.Heads, KVHeads: c.KVHeads, Scale: c.Scale, RopeBase: c.RopeBase}}
	if c.ALiBi {
		a.options.Slopes = alibiSlopes(c.Heads)
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
	return a.b.Hook(a.name+".heads", a.attend(qkv, o), "head", "value")
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

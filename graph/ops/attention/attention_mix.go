package attention

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// attentionMix sums values by a pattern. Inputs: pattern, qkv.
type attentionMix struct{ heads, kvHeads, seq, window, sinks int }

// Mix applies an attention pattern to the values (Vaswani et al. 2017, eq. 1): each token's output
// is a sum of its row's values,
//
//	o_i = sum_j p_ij v_j
//
// pattern [T, H, Seq] (query, head, key's index in its row), used as it is: no key is masked; qkv
// [T, (H+2*KV)*Dh] as in Causal, of which only v is read; o [T, H, Dh]. It uses the options Heads,
// KVHeads and Seq, and for counting FLOPs Window and Sinks. A Builder with a Cache refuses it.
func Mix(b *graph.Builder, pattern, qkv *gorgonia.Node, o Options) *gorgonia.Node {
	if b.Err() != nil || refuseCache(b, "AttentionMix") {
		return nil
	}
	return b.Apply(attentionMix{o.Heads, o.KVHeads, o.Seq, o.Window, o.Sinks}, pattern, qkv)
}

func (k attentionMix) String() string {
	return fmt.Sprintf("AttentionMix(heads=%d, kv_heads=%d, seq=%d)", k.heads, k.kvHeads, k.seq)
}

func (k attentionMix) FLOPs(c graph.Cost) int { return k.attention().halfFLOPs(c.Signature(1)) }

// attention returns an attention with the mix's sizes.
func (k attentionMix) attention() attention {
	return attention{heads: k.heads, kvHeads: k.kvHeads, seq: k.seq, window: k.window, sinks: k.sinks}
}

func (k attentionMix) Infer(in []graph.Signature) (graph.Signature, error) {
	out, err := k.attention().Infer(in[1:])
	if err != nil {
		return graph.Signature{}, err
	}
	if want := graph.WithTokens(out.Leading(), k.heads, k.seq); !in[0].Shape.Eq(want) {
		return graph.Signature{}, errors.Errorf("pattern: want [tokens, heads, seq] = %v for qkv %v, got %v", want, in[1].Shape, in[0].Shape)
	}
	return out, nil
}

func (k attentionMix) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Make(0, attentionMixGradPattern{of: k}, d.Gradient(), d.Input(1))
	}
	if d.Wants(1) {
		d.Make(1, attentionMixGradValues{of: k}, d.Input(0), d.Gradient())
	}
}

func (k attentionMix) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionMix, runAttentionMix)
}

func runAttentionMix[T kernel.Float](k attentionMix, c graph.CallOf[T]) {
	graph.State[kernel.AttentionMix[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), k.attention().params(c.Signature(1)))
}

// attentionMixGradPattern computes dp_ij = do_i.v_j. Inputs: do, qkv.
type attentionMixGradPattern struct {
	graph.NoGradient
	of attentionMix
}

func (k attentionMixGradPattern) String() string { return "GradPattern of " + k.of.String() }

func (k attentionMixGradPattern) FLOPs(c graph.Cost) int {
	return k.of.attention().halfFLOPs(c.Signature(1))
}

func (k attentionMixGradPattern) KeepsFloat32() bool { return true } // as for the pattern

func (k attentionMixGradPattern) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionMixGradPattern, runAttentionMixGradPattern)
}

func runAttentionMixGradPattern[T kernel.Float](k attentionMixGradPattern, c graph.CallOf[T]) {
	graph.State[kernel.AttentionMix[T]](c).GradPattern(c.Pool(), c.Out(), c.In(0), c.In(1), k.of.attention().params(c.Signature(1)))
}

// attentionMixGradValues computes d(qkv), packed like qkv: dv_j = sum_i p_ij do_i, 0 for q and k.
// Inputs: pattern, do.
type attentionMixGradValues struct {
	graph.NoGradient
	of attentionMix
}

func (k attentionMixGradValues) String() string { return "GradQKV of " + k.of.String() }

func (k attentionMixGradValues) FLOPs(c graph.Cost) int {
	return k.of.attention().halfFLOPs(c.Result())
}

func (k attentionMixGradValues) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionMixGradValues, runAttentionMixGradValues)
}

func runAttentionMixGradValues[T kernel.Float](k attentionMixGradValues, c graph.CallOf[T]) {
	graph.State[kernel.AttentionMix[T]](c).GradValues(c.Pool(), c.Out(), c.In(0), c.In(1), k.of.attention().params(c.Result()))
}

// Package attention computes causal attention over packed queries, keys and values, in one op or
// with the pattern as a tensor, and the positions and document starts of tokens.
package attention

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Options describe a causal attention.
type Options struct {
	Heads    int                // H, heads of queries
	KVHeads  int                // KV, heads of keys and values, a divisor of Heads; 0: Heads
	Seq      int                // tokens per row; T = batch*Seq
	Scale    float64            // factor of q.k, with everything in it: 1/sqrt(Dh), 1/(layer+1), muP
	Slopes   []float64          // ALiBi adds -Slopes[h]*(i-j); one for each head, or nil
	RopeBase float64            // base of rotary positions on q and k, with half-split pairs; 0: no rotary positions
	Stretch  kernel.RopeStretch // changes the rates of rotary positions
	SoftCap  float64            // c: Scale q.k becomes c tanh(Scale q.k / c); 0: it is not bounded
	Starts   *gorgonia.Node     // Int32, T entries: index in the row of the first visible token; nil: 0
	Window   int                // number of tokens that a token sees, including itself; 0: all before it
	Sinks    int                // with Window: number of first tokens of the document, or row, that are also seen
}

// attention computes causal attention over packed q, k, v.
type attention struct {
	heads, seq      int
	kvHeads         int // 0: heads
	window, sinks   int
	scale, ropeBase float64
	softCap         float64
	stretch         kernel.RopeStretch
	slopes          []float64
	masked          bool // document starts are an input
	saved           *attentionSaved
	rope            *rope // nil: no rotary positions
	cache           *graph.CacheLayer
}

// attentionSaved holds the log-sum-exp of each row of logits, [batch, heads, seq], for the backward
// pass, and a device's copy of the slopes, which is uploaded once.
type attentionSaved struct {
	lse    graph.Saved
	slopes graph.DeviceMemory
}

// Causal computes multi-head attention in which token i sees the tokens from its document's start
// to itself (Vaswani et al. 2017):
//
//	o_i = sum_j softmax_j(Scale q_i.k_j - Slopes (i-j)) v_j,  starts_i <= j <= i
//
// If c = SoftCap is above 0, c tanh(Scale q.k / c) replaces Scale q.k (Gemma 2, arXiv 2408.00118,
// section 2). With a Window, the sum is over j > i - Window (Beltagy et al. 2020, arXiv 2004.05150)
// and, with Sinks, also over j < starts_i + Sinks (Xiao et al. 2024, arXiv 2309.17453). A window
// and a soft cap run only on the CPU.
//
// qkv [T, (H+2*KV)*Dh] has the order (q, k, v), head, entry; the result is o [T, H, Dh]. With KV <
// H, query head h reads keys and values of head h/(H/KV) (Ainslie et al. 2023, arXiv 2305.13245,
// grouped-query attention). It is computed in blocks with an online softmax, without a Seq x Seq
// matrix. With a Cache in the builder's options, the tokens follow those of earlier runs.
func Causal(b *graph.Builder, qkv *gorgonia.Node, o Options) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	k := o.primitive(b, qkv)
	if b.Cache() != nil && qkv != nil && k.checkHeads(graph.SignatureOf(qkv)) == nil {
		var err error
		p := k.params(graph.SignatureOf(qkv))
		if k.cache, err = b.CachedAttention(qkv.Dtype(), p.KVHeads, p.HeadDim); err != nil {
			b.Fail(errors.Wrap(err, "graph: CausalAttention"))
			return nil
		}
	}
	if o.Starts != nil {
		return b.Apply(k, qkv, o.Starts)
	}
	return b.Apply(k, qkv)
}

func (k attention) String() string {
	window := ""
	if k.window > 0 {
		window = fmt.Sprintf(", window=%d, sinks=%d", k.window, k.sinks)
	}
	if k.softCap > 0 {
		window += fmt.Sprintf(", cap=%g", k.softCap)
	}
	return fmt.Sprintf("CausalAttention(heads=%d, kv_heads=%d, seq=%d, scale=%g, slopes=%v, rope=%g, stretch=%v, masked=%t%s)",
		k.heads, k.kvHeads, k.seq, k.scale, k.slopes, k.ropeBase, k.stretch, k.masked, window)
}

// CPUOnly tells whether there is a window or a soft cap, for which no CUDA kernel exists.
func (k attention) CPUOnly() bool { return k.window > 0 || k.softCap > 0 }

func (k attention) FLOPs(c graph.Cost) int { return 2 * k.halfFLOPs(c.Signature(0)) }

// ReadsInts returns true for the starts.
func (attention) ReadsInts(i int) bool { return i == 1 }

func (k attention) Infer(in []graph.Signature) (graph.Signature, error) {
	qkv := in[0]
	if err := k.checkHeads(qkv); err != nil {
		return graph.Signature{}, err
	}
	dim := k.headDim(qkv)
	switch {
	case k.seq < 1 || qkv.Leading()%k.seq != 0:
		return graph.Signature{}, errors.Errorf("qkv: want a multiple of seq %d tokens, got %v", k.seq, qkv.Shape)
	case k.slopes != nil && len(k.slopes) != k.heads:
		return graph.Signature{}, errors.Errorf("slopes: want %d, one a head, got %d", k.heads, len(k.slopes))
	case k.ropeBase != 0 && dim%2 != 0:
		return graph.Signature{}, errors.Errorf("RoPE: want an even head dimension, got %d", dim)
	case k.window < 0 || k.sinks < 0 || k.sinks > 0 && k.window == 0:
		return graph.Signature{}, errors.Errorf("window: want >= 1 tokens and >= 0 sinks, or 0 of both, got %d and %d", k.window, k.sinks)
	case !(k.softCap >= 0) || math.IsInf(k.softCap, 0):
		return graph.Signature{}, errors.Errorf("soft cap: want a finite number above 0, or 0 for none, got %g", k.softCap)
	case k.stretch.Rates != nil && len(k.stretch.Rates) != dim/2:
		return graph.Signature{}, errors.Errorf("RoPE: want a factor for each of %d pairs, got %d", dim/2, len(k.stretch.Rates))
	}
	if k.masked {
		if in[1].Size() != qkv.Leading() {
			return graph.Signature{}, errors.Errorf("starts: want %d entries, one a token, got shape %v", qkv.Leading(), in[1].Shape)
		}
	}
	return graph.Signature{DType: qkv.DType, Shape: tensor.Shape{qkv.Leading(), k.heads, dim}}, nil
}

// checkHeads checks that qkv holds packed heads of one dimension.
func (k attention) checkHeads(qkv graph.Signature) error {
	kv := k.sharedHeads()
	switch {
	case k.heads < 1 || kv < 1 || k.heads%kv != 0:
		return errors.Errorf("heads: want at least 1, in groups for each head of keys and values, got %d and %d", k.heads, kv)
	case qkv.Shape.Dims() < 2 || qkv.Width()%(k.heads+2*kv) != 0 || qkv.Width() == 0:
		return errors.Errorf("qkv: want [tokens, (heads+2*kv_heads)*Dh] with %d heads of queries and %d of keys and values, got %v", k.heads, kv, qkv.Shape)
	}
	return nil
}

// sharedHeads returns the number of heads of keys and values.
func (k attention) sharedHeads() int {
	if k.kvHeads == 0 {
		return k.heads
	}
	return k.kvHeads
}

// headDim returns the size of a head, Dh.
func (k attention) headDim(qkv graph.Signature) int {
	return qkv.Width() / (k.heads + 2*k.sharedHeads())
}

func (k attention) params(qkv graph.Signature) kernel.AttentionParams {
	return kernel.AttentionParams{Batch: qkv.Leading() / k.seq, Seq: k.seq, Heads: k.heads, KVHeads: k.sharedHeads(), HeadDim: k.headDim(qkv),
		Scale: k.scale, SoftCap: k.softCap, Slopes: k.slopes, RopeBase: k.ropeBase, RopeStretch: k.stretch, Window: k.window, Sinks: k.sinks}
}

func (k attention) VJP(d *graph.Derivative) {
	if k.cache != nil {
		d.Builder().Fail(errors.New("graph: CausalAttention: want no cache where a gradient is taken: build the training graph without Options.Cache"))
		return
	}
	children := gorgonia.Nodes{d.Input(0), d.Output(), d.Gradient()}
	if k.masked {
		children = append(children, d.Input(1))
	}
	d.Make(0, attentionGrad{of: k}, children...)
}

// DeviceBytes counts the log-sum-exps.
func (k attention) DeviceBytes(c graph.Cost) (saved, scratch int) {
	if k.cache != nil {
		return 0, 0
	}
	p := k.params(c.Signature(0))
	return p.Batch * p.Heads * p.Seq * cuda.F32.Size(), 0
}

// ByRows returns true without a cache.
func (k attention) ByRows() bool { return k.cache == nil }

func (k attention) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttention, runAttention)
}

func runAttention[T kernel.Float](k attention, c graph.CallOf[T]) {
	p := k.params(c.Signature(0))
	run := graph.State[kernel.Attention[T]](c)
	run.Rope = tableOf[T](k.rope)
	starts := c.Ints(1)
	if k.cache != nil {
		run.ForwardCached(c.Pool(), c.Out(), c.In(0), graph.KV[T](k.cache), k.cache.Running(), starts, p)
		return
	}
	lse := graph.SavedOf[T](&k.saved.lse, p.Batch*p.Heads*p.Seq)
	run.Forward(c.Pool(), c.RowsOut(), lse, c.Rows(0), starts, p)
}

// CPUOnly returns what the attention's CPUOnly does.
func (k attentionGrad) CPUOnly() bool { return k.of.CPUOnly() }

// attentionGrad computes d(qkv), packed like qkv. Inputs: qkv, o, do, and starts if masked.
type attentionGrad struct {
	graph.NoGradient
	of attention
}

func (k attentionGrad) String() string { return "GradQKV of " + k.of.String() }

func (k attentionGrad) FLOPs(c graph.Cost) int { // dp and dv, dq and dk, for q.k and p.v
	return 4 * k.of.halfFLOPs(c.Signature(0))
}

// DeviceBytes counts the products of o and do.
func (k attentionGrad) DeviceBytes(c graph.Cost) (saved, scratch int) {
	p := k.of.params(c.Signature(0))
	return 0, p.Batch * p.Heads * p.Seq * cuda.F32.Size()
}

// ByRows returns true.
func (attentionGrad) ByRows() bool { return true }

func (k attentionGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionGrad, runAttentionGrad)
}

func runAttentionGrad[T kernel.Float](k attentionGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(0))
	lse := graph.SavedOf[T](&k.of.saved.lse, p.Batch*p.Heads*p.Seq)
	run := graph.State[kernel.Attention[T]](c)
	run.Rope = tableOf[T](k.of.rope)
	run.Backward(c.Pool(), c.RowsOut(), c.Rows(0), c.Rows(1), c.Rows(2), lse, c.Ints(3), p)
}

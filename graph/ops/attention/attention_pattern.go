package attention

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// attentionPattern computes the softmax of an attention as a tensor. Inputs: qkv and, if masked,
// starts.
type attentionPattern struct{ attention }

// Pattern computes the softmax inside Causal (Vaswani et al. 2017, eq. 1), for code that looks at
// it or changes it:
//
//	p_ij = softmax_j(Scale q_i.k_j - Slopes (i-j)),  starts_i <= j <= i; exactly 0 elsewhere
//
// and 0 where the window and the sinks of Causal leave keys out. qkv [T, (H+2*KV)*Dh] as in Causal;
// p [T, H, Seq]: query, head, and the key's index in its row. Mix(b, p, qkv, o) then equals
// Causal(b, qkv, o), gradients included, but takes memory for batch*H*Seq*Seq more entries. A
// Builder with a Cache refuses it: build the graph of whole rows.
func Pattern(b *graph.Builder, qkv *gorgonia.Node, o Options) *gorgonia.Node {
	if b.Err() != nil || refuseCache(b, "AttentionPattern") {
		return nil
	}
	k := attentionPattern{o.primitive(b, qkv)}
	if o.Starts != nil {
		return b.Apply(k, qkv, o.Starts)
	}
	return b.Apply(k, qkv)
}

// primitive returns the attention over qkv that the options describe, without a cache.
func (o Options) primitive(b *graph.Builder, qkv *gorgonia.Node) attention {
	k := attention{heads: o.Heads, kvHeads: o.KVHeads, seq: o.Seq, scale: o.Scale, softCap: o.SoftCap, ropeBase: o.RopeBase, stretch: o.Stretch,
		slopes: o.Slopes, window: o.Window, sinks: o.Sinks, masked: o.Starts != nil, saved: &attentionSaved{}}
	if qkv != nil && k.ropeBase != 0 && k.checkHeads(graph.SignatureOf(qkv)) == nil {
		k.rope = graph.Common[rope](b, fmt.Sprint("rope ", k.seq, k.ropeBase, k.stretch, k.headDim(graph.SignatureOf(qkv))))
	}
	return k
}

// refuseCache makes the builder fail, and returns true, if it has a cache: op does not see a
// cache's tokens.
func refuseCache(b *graph.Builder, op string) bool {
	if b.Cache() == nil {
		return false
	}
	b.Fail(errors.Errorf("graph: %s: want whole rows, got a cache of earlier tokens: build the graph without Options.Cache", op))
	return true
}

func (k attentionPattern) String() string { return "AttentionPattern of " + k.attention.String() }

func (k attentionPattern) FLOPs(c graph.Cost) int { return k.halfFLOPs(c.Signature(0)) }

func (k attentionPattern) Infer(in []graph.Signature) (graph.Signature, error) {
	if _, err := k.attention.Infer(in); err != nil {
		return graph.Signature{}, err
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), k.heads, k.seq)}, nil
}

func (k attentionPattern) KeepsFloat32() bool { return true }

func (k attentionPattern) VJP(d *graph.Derivative) {
	children := gorgonia.Nodes{d.Input(0), d.Output(), d.Gradient()}
	if k.masked {
		children = append(children, d.Input(1))
	}
	d.Make(0, attentionPatternGrad{of: k.attention}, children...)
}

// halfFLOPs counts one of attention's two products, q.k or p.v, over the keys that queries see.
func (k attention) halfFLOPs(qkv graph.Signature) int {
	p := k.params(qkv)
	return 2 * p.Batch * p.Heads * p.HeadDim * p.Visible()
}

// rotatedSize returns the number of entries of all queries and keys.
func (k attention) rotatedSize(qkv graph.Signature) int {
	p := k.params(qkv)
	return p.Batch * p.Seq * (p.Heads + p.KVHeads) * p.HeadDim
}

// DeviceBytes counts the rotated queries and keys.
func (k attentionPattern) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 0, k.rotatedSize(c.Signature(0)) * cuda.F32.Size()
}

func (k attentionPattern) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionPattern, runAttentionPattern)
}

func runAttentionPattern[T kernel.Float](k attentionPattern, c graph.CallOf[T]) {
	run := graph.State[kernel.AttentionPattern[T]](c)
	run.Rope = tableOf[T](k.rope)
	run.Forward(c.Pool(), c.Out(), c.In(0), c.Ints(1), k.params(c.Signature(0)))
}

// CPUOnly returns what the attention's CPUOnly does.
func (k attentionPatternGrad) CPUOnly() bool { return k.of.CPUOnly() }

// attentionPatternGrad computes d(qkv), packed like qkv, 0 for v. Inputs: qkv, p, dp, and starts if
// masked.
type attentionPatternGrad struct {
	graph.NoGradient
	of attention
}

func (k attentionPatternGrad) String() string {
	return "GradQKV of AttentionPattern of " + k.of.String()
}

func (k attentionPatternGrad) FLOPs(c graph.Cost) int { // dq and dk
	return 2 * k.of.halfFLOPs(c.Signature(0))
}

// DeviceBytes counts the rotated queries and keys, and the gradient of the logits.
func (k attentionPatternGrad) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 0, (k.of.rotatedSize(c.Signature(0)) + c.Signature(1).Size()) * cuda.F32.Size()
}

func (k attentionPatternGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAttentionPatternGrad, runAttentionPatternGrad)
}

func runAttentionPatternGrad[T kernel.Float](k attentionPatternGrad, c graph.CallOf[T]) {
	run := graph.State[kernel.AttentionPattern[T]](c)
	run.Rope = tableOf[T](k.of.rope)
	run.Backward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2),
		c.Ints(3), k.of.params(c.Signature(0)))
}

package attention

import (
	"cmp"
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Preparation says what is done to packed queries, keys and values before attention.
type Preparation struct {
	Heads   int
	KVHeads int // heads of keys and values; 0: Heads
	// QueryGain and KeyGain [Dh]: with both, queries and keys are normalised head by head (RMSNorm)
	// and multiplied by them; with none, they are not changed. Gains [H*Dh] and [KV*Dh] normalise a
	// token's queries, and its keys, over all heads together (Olmo et al. 2025, arXiv 2501.00656),
	// on the CPU alone.
	QueryGain, KeyGain *gorgonia.Node
	Eps                float64 // epsilon of the norm; 0: 1e-6
	// First [T, KV*Dh], the values of the same tokens in an earlier layer (Values), is mixed into
	// the values; nil: the values are not changed. Weights [2] multiply the values and First; nil:
	// both 0.5.
	First, Weights *gorgonia.Node
}

// preparation is the op of Prepare. Its first input is qkv.
type preparation struct {
	heads, kvHeads int
	eps            float64
	row            bool // the norm is over all heads together
	places
}

// places are the numbers of an op's optional inputs, -1 for one that is missing.
type places struct{ query, key, first, weights int }

var noPlaces = places{-1, -1, -1, -1}

// inputList collects the inputs of an op.
type inputList []*gorgonia.Node

// add appends an input and returns its number.
func (l *inputList) add(n *gorgonia.Node) int {
	*l = append(*l, n)
	return len(*l) - 1
}

// Prepare changes queries, keys and values between their projection and attention, as modern models
// do: QK-norm (Henry et al. 2020, arXiv 2010.04245, as in Qwen3, before rotary positions) and a
// value residual (Zhou et al. 2024, arXiv 2410.17897), in one pass:
//
//	q <- q / sqrt(mean(q^2) + eps) * QueryGain,  k <- k / sqrt(mean(k^2) + eps) * KeyGain
//	v <- Weights[0] v + Weights[1] First
//
// qkv [T, (H+2*KV)*Dh] in the order (q, k, v), head, entry; the result has its shape.
func Prepare(b *graph.Builder, qkv *gorgonia.Node, o Preparation) *gorgonia.Node {
	k := preparation{heads: o.Heads, kvHeads: o.KVHeads, eps: cmp.Or(o.Eps, 1e-6), places: noPlaces}
	inputs := inputList{qkv}
	if qkv != nil && o.QueryGain != nil && k.attention().checkHeads(graph.SignatureOf(qkv)) == nil {
		k.row = o.QueryGain.Shape().TotalSize() != k.attention().headDim(graph.SignatureOf(qkv))
	}
	if o.QueryGain != nil || o.KeyGain != nil {
		k.query, k.key = inputs.add(o.QueryGain), inputs.add(o.KeyGain)
	}
	if o.First != nil || o.Weights != nil {
		k.first = inputs.add(o.First)
	}
	if o.Weights != nil {
		k.weights = inputs.add(o.Weights)
	}
	return b.Apply(k, inputs...)
}

func (k preparation) String() string {
	row := ""
	if k.row {
		row = ", row"
	}
	return fmt.Sprintf("PrepareQKV(heads=%d, kv_heads=%d, eps=%g, norm=%t, mix=%t, learned=%t%s)", k.heads, k.kvHeads, k.eps, k.query > 0, k.first > 0,
		k.weights > 0, row)
}

// CPUOnly tells whether the norm is over all heads, for which no CUDA kernel exists.
func (k preparation) CPUOnly() bool { return k.row }

// CPUOnly returns what the preparation's CPUOnly does.
func (k preparationGrad) CPUOnly() bool { return k.of.row }

func (k preparation) Infer(in []graph.Signature) (graph.Signature, error) {
	qkv := in[0]
	if err := k.attention().checkHeads(qkv); err != nil {
		return graph.Signature{}, err
	}
	d := k.params(qkv)
	for i, s := range in[1:] {
		want, name := tensor.Shape{d.HeadDim}, "gain"
		switch i + 1 {
		case k.query:
			want = k.gains(d.HeadDim, d.Heads)
		case k.key:
			want = k.gains(d.HeadDim, d.KVHeads)
		case k.first:
			want, name = tensor.Shape{qkv.Leading(), d.KVHeads * d.HeadDim}, "first values"
		case k.weights:
			want, name = tensor.Shape{2}, "weights"
		}
		if !s.Shape.Eq(want) {
			return graph.Signature{}, errors.Errorf("%s: want shape %v for qkv %v of %d and %d heads, got %v", name, want, qkv.Shape, d.Heads, d.KVHeads, s.Shape)
		}
	}
	return qkv, nil
}

// gains returns the shape of the gains of a number of heads.
func (k preparation) gains(headDim, heads int) tensor.Shape {
	if k.row {
		return tensor.Shape{heads * headDim}
	}
	return tensor.Shape{headDim}
}

// attention returns an attention with the same sizes.
func (k preparation) attention() attention { return attention{heads: k.heads, kvHeads: k.kvHeads} }

func (k preparation) params(qkv graph.Signature) kernel.QKVParams {
	a := k.attention()
	return kernel.QKVParams{Tokens: qkv.Leading(), Heads: k.heads, KVHeads: a.sharedHeads(), HeadDim: a.headDim(qkv), Norm: k.query > 0, Eps: k.eps}
}

func (k preparation) InPlace(i int) bool { return i == 0 }

func (k preparation) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPreparation, runPreparation)
}

func runPreparation[T kernel.Float](k preparation, c graph.CallOf[T]) {
	graph.State[kernel.PrepareQKV[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(k.query), c.In(k.key),
		c.In(k.first), c.In(k.weights), k.params(c.Signature(0)))
}

// VJP makes the gradient of First, which sums over all attentions, and then all other gradients in
// one pass.
func (k preparation) VJP(d *graph.Derivative) {
	if k.first > 0 && d.Wants(k.first) {
		k.gradFirst(d)
	}
	g, inputs := preparationGrad{of: k, places: noPlaces, qkv: -1}, inputList{d.Gradient()}
	weighs := k.weights > 0 && d.Wants(k.weights)
	if k.query > 0 {
		g.query, g.key = inputs.add(d.Input(k.query)), inputs.add(d.Input(k.key))
	}
	if k.weights > 0 {
		g.weights = inputs.add(d.Input(k.weights))
	}
	if k.query > 0 || weighs {
		g.qkv = inputs.add(d.Input(0))
	}
	if weighs {
		g.first = inputs.add(d.Input(k.first))
	}
	primary := d.Make(0, g, inputs...)
	if k.query > 0 {
		d.SetSecondary(k.query, primary, 0, "GradQueryGain of "+k.String())
		d.SetSecondary(k.key, primary, 1, "GradKeyGain of "+k.String())
	}
	if weighs {
		d.SetFloat32(k.weights, primary, 2, "GradWeights of "+k.String())
	}
}

func (k preparation) gradFirst(d *graph.Derivative) {
	g, inputs := firstGrad{of: k, weights: -1, addend: -1}, inputList{d.Gradient()}
	if k.weights > 0 {
		g.weights = inputs.add(d.Input(k.weights))
	}
	if addend := d.TakeAccumulated(k.first); addend != nil {
		g.addend = inputs.add(addend)
	}
	d.Make(k.first, g, inputs...)
}

// preparationGrad computes d(qkv); its secondaries are the gradients of the gains and of the
// weights. Its first input is the gradient that arrives; it reads qkv for the gradients of gains or
// weights, and first for those of the weights.
type preparationGrad struct {
	graph.NoGradient
	of preparation
	places
	qkv int
}

func (k preparationGrad) String() string {
	return fmt.Sprintf("GradQKV of %s, weights=%t", k.of, k.first > 0)
}

func (k preparationGrad) InPlace(i int) bool { return i == 0 }

func (k preparationGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPreparationGrad, runPreparationGrad)
}

func runPreparationGrad[T kernel.Float](k preparationGrad, c graph.CallOf[T]) {
	var g kernel.PrepareQKVGrads[T]
	g.QGain, g.AccumulateQGain = c.SecondaryOut(0)
	g.KGain, g.AccumulateKGain = c.SecondaryOut(1)
	g.Weights, g.AccumulateWeights = c.SecondaryOut(2)
	graph.State[kernel.PrepareQKV[T]](c).Backward(c.Pool(), c.Out(), g, c.In(0), c.In(k.qkv), c.In(k.query), c.In(k.key),
		c.In(k.first), c.In(k.weights), k.of.first > 0, k.of.params(c.Signature(0)))
}

// firstGrad computes the gradient of First: weights[1] times the gradient of the mixed values.
// Inputs: the gradient that arrives, the weights if there are any, and optionally First's gradient
// from its other readers, to which the result is added.
type firstGrad struct {
	graph.NoGradient
	of              preparation
	weights, addend int // the numbers of the inputs, -1 for one that is missing
}

func (k firstGrad) String() string {
	return fmt.Sprintf("GradFirst of %s, adds=%t", k.of, k.addend > 0)
}

func (k firstGrad) InPlace(i int) bool { return i == k.addend }

func (k firstGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runFirstGrad, runFirstGrad)
}

func runFirstGrad[T kernel.Float](k firstGrad, c graph.CallOf[T]) {
	graph.State[kernel.Values[T]](c).First(c.Pool(), c.Out(), c.In(0), c.In(k.weights), c.In(k.addend), k.of.params(c.Signature(0)))
}

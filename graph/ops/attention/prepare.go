package attention

import (
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
	// and multiplied by them; with none, they are not changed.
	QueryGain, KeyGain *gorgonia.Node
	Eps                float64 // epsilon of the norm; 0: 1e-6
	// First [T, KV*Dh], the values of the same tokens in an earlier layer (Values), is mixed into
	// the values; nil: the values are not changed. Weights [2] multiply the values and First; nil:
	// both 0.5.
	First, Weights *gorgonia.Node
}

// preparation is the op of Prepare. Inputs: qkv, then the two gains if normed, then first if mixed,
// then the weights if learned.
type preparation struct {
	heads, kvHeads         int
	eps                    float64
	normed, mixed, learned bool
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
	k := preparation{heads: o.Heads, kvHeads: o.KVHeads, eps: o.Eps, normed: o.QueryGain != nil || o.KeyGain != nil, mixed: o.First != nil || o.Weights != nil, learned: o.Weights != nil}
	if k.eps == 0 {
		k.eps = 1e-6
	}
	inputs := gorgonia.Nodes{qkv}
	if k.normed {
		inputs = append(inputs, o.QueryGain, o.KeyGain)
	}
	if k.mixed {
		inputs = append(inputs, o.First)
	}
	if k.learned {
		inputs = append(inputs, o.Weights)
	}
	return b.Apply(k, inputs...)
}

func (k preparation) String() string {
	return fmt.Sprintf("PrepareQKV(heads=%d, kv_heads=%d, eps=%g, norm=%t, mix=%t, learned=%t)", k.heads, k.kvHeads, k.eps, k.normed, k.mixed, k.learned)
}

// first returns the number of the input First, -1 if there is none; weights that of Weights.
func (k preparation) first() int {
	switch {
	case !k.mixed:
		return -1
	case k.normed:
		return 3
	}
	return 1
}

func (k preparation) weights() int {
	if !k.learned {
		return -1
	}
	return k.first() + 1
}

func (k preparation) Infer(in []graph.Signature) (graph.Signature, error) {
	qkv := in[0]
	if err := k.attention().checkHeads(qkv); err != nil {
		return graph.Signature{}, err
	}
	d := k.params(qkv)
	for i, s := range in[1:] {
		want, name := tensor.Shape{d.HeadDim}, "gain"
		switch i + 1 {
		case k.first():
			want, name = tensor.Shape{qkv.Leading(), d.KVHeads * d.HeadDim}, "first values"
		case k.weights():
			want, name = tensor.Shape{2}, "weights"
		}
		if !s.Shape.Eq(want) {
			return graph.Signature{}, errors.Errorf("%s: want shape %v for qkv %v of %d and %d heads, got %v", name, want, qkv.Shape, d.Heads, d.KVHeads, s.Shape)
		}
	}
	return qkv, nil
}

// attention returns an attention with the same sizes.
func (k preparation) attention() attention { return attention{heads: k.heads, kvHeads: k.kvHeads} }

func (k preparation) params(qkv graph.Signature) kernel.QKVParams {
	a := k.attention()
	return kernel.QKVParams{Tokens: qkv.Leading(), Heads: k.heads, KVHeads: a.sharedHeads(), HeadDim: a.headDim(qkv), Norm: k.normed, Eps: k.eps}
}

func (k preparation) InPlace(i int) bool { return i == 0 }

func (k preparation) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPreparation, runPreparation)
}

// optional returns input i, nil if i is -1.
func optional[T kernel.Float](c graph.CallOf[T], i int) []T {
	if i < 0 {
		return nil
	}
	return c.In(i)
}

// gains returns the numbers of the two gain inputs; -1 if there are none.
func (k preparation) gains() (query, key int) {
	if !k.normed {
		return -1, -1
	}
	return 1, 2
}

func runPreparation[T kernel.Float](k preparation, c graph.CallOf[T]) {
	query, key := k.gains()
	graph.State[kernel.PrepareQKV[T]](c).Forward(c.Pool(), c.Out(), c.In(0), optional(c, query), optional(c, key),
		optional(c, k.first()), optional(c, k.weights()), k.params(c.Signature(0)))
}

// VJP makes the gradient of First, which sums over all attentions, and then all other gradients in
// one pass.
func (k preparation) VJP(d *graph.Derivative) {
	if i := k.first(); i > 0 && d.Wants(i) {
		children := gorgonia.Nodes{d.Gradient()}
		if k.learned {
			children = append(children, d.Input(k.weights()))
		}
		addend := d.TakeAccumulated(i)
		if addend != nil {
			children = append(children, addend)
		}
		d.Make(i, firstGrad{of: k, adds: addend != nil}, children...)
	}
	g := preparationGrad{of: k, weighs: k.learned && d.Wants(k.weights())}
	children := gorgonia.Nodes{d.Gradient()}
	if k.normed {
		children = append(children, d.Input(1), d.Input(2))
	}
	if k.learned {
		children = append(children, d.Input(k.weights()))
	}
	if k.normed || g.weighs {
		children = append(children, d.Input(0))
	}
	if g.weighs {
		children = append(children, d.Input(k.first()))
	}
	primary := d.Make(0, g, children...)
	if k.normed {
		d.SetSecondary(1, primary, 0, "GradQueryGain of "+k.String())
		d.SetSecondary(2, primary, 1, "GradKeyGain of "+k.String())
	}
	if g.weighs {
		d.SetFloat32(k.weights(), primary, 2, "GradWeights of "+k.String())
	}
}

// preparationGrad computes d(qkv); its secondaries are the gradients of the gains and of the
// weights. Inputs: the gradient that arrives, the gains if normed, the weights if learned, qkv if
// normed or weighing, and first if weighing.
type preparationGrad struct {
	graph.NoGradient
	of     preparation
	weighs bool // the gradient of the weights is wanted
}

func (k preparationGrad) String() string {
	return fmt.Sprintf("GradQKV of %s, weights=%t", k.of, k.weighs)
}

func (k preparationGrad) InPlace(i int) bool { return i == 0 }

// inputs returns the input numbers of the weights, of qkv and of first; -1 for one that is missing.
func (k preparationGrad) inputs() (weights, qkv, first int) {
	weights, qkv, first = -1, -1, -1
	next := 1
	if k.of.normed {
		next += 2
	}
	if k.of.learned {
		weights, next = next, next+1
	}
	if k.of.normed || k.weighs {
		qkv, next = next, next+1
	}
	if k.weighs {
		first = next
	}
	return weights, qkv, first
}

func (k preparationGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPreparationGrad, runPreparationGrad)
}

func runPreparationGrad[T kernel.Float](k preparationGrad, c graph.CallOf[T]) {
	query, key := k.of.gains()
	weights, qkv, first := k.inputs()
	var g kernel.PrepareQKVGrads[T]
	g.QGain, g.AccumulateQGain = c.SecondaryOut(0)
	g.KGain, g.AccumulateKGain = c.SecondaryOut(1)
	g.Weights, g.AccumulateWeights = c.SecondaryOut(2)
	graph.State[kernel.PrepareQKV[T]](c).Backward(c.Pool(), c.Out(), g, c.In(0), optional(c, qkv), optional(c, query), optional(c, key),
		optional(c, first), optional(c, weights), k.of.mixed, k.of.params(c.Signature(0)))
}

// firstGrad computes the gradient of First: weights[1] times the gradient of the mixed values.
// Inputs: the gradient that arrives, the weights if learned, and optionally First's gradient from
// its other readers, to which the result is added.
type firstGrad struct {
	graph.NoGradient
	of   preparation
	adds bool
}

func (k firstGrad) String() string { return fmt.Sprintf("GradFirst of %s, adds=%t", k.of, k.adds) }

// inputs returns the input numbers of the weights and of the addend; -1 for one that is missing.
func (k firstGrad) inputs() (weights, addend int) {
	weights, addend = -1, -1
	next := 1
	if k.of.learned {
		weights, next = next, next+1
	}
	if k.adds {
		addend = next
	}
	return weights, addend
}

func (k firstGrad) InPlace(i int) bool {
	_, addend := k.inputs()
	return i > 0 && i == addend
}

func (k firstGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runFirstGrad, runFirstGrad)
}

func runFirstGrad[T kernel.Float](k firstGrad, c graph.CallOf[T]) {
	weights, addend := k.inputs()
	graph.State[kernel.Values[T]](c).First(c.Pool(), c.Out(), c.In(0), optional(c, weights), optional(c, addend), k.of.params(c.Signature(0)))
}

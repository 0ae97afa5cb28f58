package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// depthAttention sums sources, weighted by a softmax over them. Inputs: query, gain, the sources.
type depthAttention struct {
	DepthOptions
	sources int
	saved   *graph.Saved // weights, of each token, head and source, and 1/rms, of each token and source
}

// DepthOptions describe attention over depth.
type DepthOptions struct {
	Eps float64 // added to the mean square of a source
	// Heads divides the columns of sources and query: each head has a softmax of its own over the
	// scores of its columns (arXiv 2607.27230), and the norm stays that of whole rows. 0: 1.
	Heads int
}

// heads returns the number of heads.
func (o DepthOptions) heads() int { return max(1, o.Heads) }

// DepthAttention reads the outputs of earlier sublayers by attention over them, separately for each
// token, as attention residuals do (Kimi 2026, arXiv 2603.15031). The scores use normalised
// sources, the sum uses them as they are:
//
//	u_t = sum over i of a[t, i] v[i]_t,   a[t] = softmax over i of query . (gain ⊙ v[i]_t / rms(v[i]_t))
//	rms(v) = sqrt(mean(v^2) + eps)
//
// query, gain [D]; sources k tensors [T, D], u like each of them. With a query of 0, u is their
// mean. DepthWeights computes only a.
func DepthAttention(b *graph.Builder, query, gain *gorgonia.Node, o DepthOptions, sources ...*gorgonia.Node) *gorgonia.Node {
	return b.Apply(depthAttention{o, len(sources), &graph.Saved{}}, append(gorgonia.Nodes{query, gain}, sources...)...)
}

// DepthWeights computes the weights of DepthAttention, a [T, k] for k sources, or with several
// heads [T, Heads*k], head by head; elementwise.WeightedSum computes the rest. Use it to see or
// replace the weights.
func DepthWeights(b *graph.Builder, query, gain *gorgonia.Node, o DepthOptions, sources ...*gorgonia.Node) *gorgonia.Node {
	return b.Apply(depthWeights{depthAttention{o, len(sources), &graph.Saved{}}}, append(gorgonia.Nodes{query, gain}, sources...)...)
}

func (k depthAttention) String() string { return "DepthAttention" + k.DepthOptions.String() }

// String returns "(eps=1e-06)", or "(eps=1e-06, heads=4)".
func (o DepthOptions) String() string {
	if o.heads() == 1 {
		return fmt.Sprintf("(eps=%g)", o.Eps)
	}
	return fmt.Sprintf("(eps=%g, heads=%d)", o.Eps, o.Heads)
}

// FLOPs counts the scores and the sum.
func (k depthAttention) FLOPs(c graph.Cost) int { return 4 * k.sources * c.Signature(2).Size() }

func (k depthAttention) Infer(in []graph.Signature) (graph.Signature, error) {
	query, gain, sources := in[0], in[1], in[2:]
	if len(sources) == 0 {
		return graph.Signature{}, errors.New("want at least one source, got none")
	}
	for i, s := range sources {
		if s.Shape.Dims() != 2 {
			return graph.Signature{}, errors.Errorf("source %d: want shape [tokens, D], got %v", i, s.Shape)
		}
		if !s.Shape.Eq(sources[0].Shape) {
			return graph.Signature{}, errors.Errorf("source %d: want shape %v as source 0, got %v", i, sources[0].Shape, s.Shape)
		}
	}
	row := tensor.Shape{sources[0].Width()}
	if !query.Shape.Eq(row) || !gain.Shape.Eq(row) {
		return graph.Signature{}, errors.Errorf("query and gain: want shape %v for sources %v, got %v and %v", row, sources[0].Shape, query.Shape, gain.Shape)
	}
	if k.Eps < 0 {
		return graph.Signature{}, errors.Errorf("eps: want a number >= 0, got %g", k.Eps)
	}
	if sources[0].Width()%k.heads() != 0 {
		return graph.Signature{}, errors.Errorf("heads: want a divisor of the width %d, got %d", sources[0].Width(), k.Heads)
	}
	return sources[0], nil
}

// params returns the sizes, given the signature of a source.
func (k depthAttention) params(v graph.Signature) kernel.DepthAttentionParams {
	return kernel.DepthAttentionParams{Tokens: v.Leading(), Width: v.Width(), Sources: k.sources, Eps: k.Eps, Heads: k.Heads}
}

// DeviceBytes counts what is saved, 32-bit floats.
func (k depthAttention) DeviceBytes(c graph.Cost) (saved, scratch int) {
	p := k.params(c.Signature(2))
	return (k.heads() + 1) * p.Tokens * p.Sources * cuda.F32.Size(), 0
}

func (k depthAttention) VJP(d *graph.Derivative) { k.gradients(d, false) }

// gradients makes the gradient of the first source, whose secondaries are the gradients of the
// others.
func (k depthAttention) gradients(d *graph.Derivative, ofWeights bool) {
	grad := depthGrad{of: k, ofWeights: ofWeights}
	inputs := gorgonia.Nodes{d.Gradient()}
	for i := range d.Inputs() {
		inputs = append(inputs, d.Input(i))
	}
	for i := range k.sources {
		at := 0
		if d.Wants(2 + i) {
			if addend := d.TakeAccumulated(2 + i); addend != nil {
				at, inputs = len(inputs), append(inputs, addend)
			}
		}
		grad.addends = append(grad.addends, at)
	}
	primary := d.Make(2, grad, inputs...)
	for i := 1; i < k.sources; i++ {
		if d.Wants(2 + i) {
			d.Set(2+i, d.Builder().Secondary(depthSourceGrad{number: i}, i-1, primary))
		}
	}
	for i, what := range []string{"GradQuery", "GradGain"} {
		d.SetFloat32(i, primary, k.sources-1+i, what+" of "+k.String())
	}
}

// depthState holds the kernel and its lists of sources from run to run, so that a run allocates
// nothing.
type depthState[T kernel.Float] struct {
	kernel.DepthAttention[T]
	v, dv, addends [][]T
}

func (k depthAttention) Run(c *graph.Call) {
	graph.Dispatch(c, k, runDepthAttention, runDepthAttention)
}

func runDepthAttention[T kernel.Float](k depthAttention, c graph.CallOf[T]) {
	attendDepth(k, c, c.Out())
}

// attendDepth computes the saved weights, which it returns, and u unless that is nil.
func attendDepth[T kernel.Float](k depthAttention, c graph.CallOf[T], u []T) []T {
	s, p := graph.State[depthState[T]](c), k.params(c.Signature(2))
	weights, rstd := graph.SavedPair[T](k.saved, p.Tokens*p.Sources*k.heads())
	s.v = s.v[:0]
	for i := range p.Sources {
		s.v = append(s.v, c.In(2+i))
	}
	s.Forward(c.Pool(), u, weights, rstd, s.v, c.In(0), c.In(1), p)
	return weights
}

// depthWeights computes only the weights.
type depthWeights struct{ depthAttention }

func (k depthWeights) String() string { return "DepthWeights" + k.DepthOptions.String() }

func (k depthWeights) FLOPs(c graph.Cost) int { return 2 * k.sources * c.Signature(2).Size() }

func (depthWeights) KeepsFloat32() bool { return true }

func (k depthWeights) Infer(in []graph.Signature) (graph.Signature, error) {
	s, err := k.depthAttention.Infer(in)
	if err != nil {
		return s, err
	}
	return graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading(), k.heads()*(len(in)-2))}, nil
}

func (k depthWeights) VJP(d *graph.Derivative) { k.gradients(d, true) }

func (k depthWeights) Run(c *graph.Call) {
	graph.Dispatch(c, k, runDepthWeights, runDepthWeights)
}

func runDepthWeights[T kernel.Float](k depthWeights, c graph.CallOf[T]) {
	copy(c.Out(), attendDepth[T](k.depthAttention, c, nil))
}

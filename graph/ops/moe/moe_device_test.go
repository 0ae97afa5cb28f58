//go:build cuda

package moe

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// routed is a mixture with given choices: choice i of token t is expert choose(t, i). The router's
// own part of the logits is too small to change the choices in any precision.
type routed struct {
	tokens, width, hidden, experts, topK int
	bias, exact                          bool
	choose                               func(t, i int) int
}

func (r routed) opCase(output func(m Output) *gorgonia.Node) optest.Case {
	shapes := [][]int{{r.tokens, r.width}, {r.width, r.experts}, {r.experts, r.width, r.hidden}, {r.experts, r.hidden, r.width}}
	if r.bias {
		shapes = append(shapes, []int{r.experts, r.hidden}, []int{r.experts, r.width})
	}
	return optest.Case{Floats: shapes, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		o := Options{TopK: r.topK, ExactGelu: r.exact}
		if r.bias {
			o.B1, o.B2 = x[4], x[5]
		}
		own := b.Apply(routerLogits{linear.Product{Scale: 0.02 / math.Sqrt(float64(r.width))}}, x[0], x[1])
		fixed := b.Apply(optest.WeightedLossGrad{Weights: r.logits(), X: graph.Signature{DType: tensor.Float32, Shape: tensor.Shape{r.tokens, r.experts}}}, x[0])
		scale := 1 / math.Sqrt(float64(r.width))
		return output(mixture(b, b.Apply(fullAdd{}, own, fixed), x[0], elementwise.Scale(b, x[2], scale), x[3], o))
	}}
}

// logits returns logits that are higher for the chosen experts, and highest for the first choice.
func (r routed) logits() []float32 {
	logits := make([]float32, r.tokens*r.experts)
	for t := range r.tokens {
		for i := range r.topK {
			logits[t*r.experts+r.choose(t, i)] = 1 + float32(r.topK-i)/2
		}
	}
	return logits
}

// fullAdd is an Add in full precision.
type fullAdd struct{}

func (fullAdd) String() string { return "FullAdd" }

func (fullAdd) KeepsFloat32() bool { return true }

func (fullAdd) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (fullAdd) VJP(d *graph.Derivative) {
	d.Set(0, d.Gradient())
	d.Set(1, d.Gradient())
}

func (k fullAdd) Run(c *graph.Call) { graph.Dispatch(c, k, runFullAdd, runFullAdd) }

func runFullAdd[T kernel.Float](_ fullAdd, c graph.CallOf[T]) {
	x, y := c.In(0), c.In(1)
	for i := range c.Out() {
		c.Out()[i] = x[i] + y[i]
	}
}

func (fullAdd) Launch(c *graph.DeviceCall) {
	c.Unify()
	c.Sum(c.Out(), c.Inputs(), false)
}

// TestDeviceMoE compares mixtures on the device with those on the CPU, for very different loads of
// the experts and for sizes that are and are not multiples of the kernels' tiles.
func TestDeviceMoE(t *testing.T) {
	for name, r := range map[string]routed{
		"empty experts": {tokens: 40, width: 16, hidden: 24, experts: 5, topK: 2, bias: true,
			choose: func(t, i int) int { return []int{1, 2, 4}[(t+i)%3] }},
		"all on one": {tokens: 300, width: 24, hidden: 16, experts: 4, topK: 1,
			choose: func(int, int) int { return 2 }},
		"all on the same two": {tokens: 150, width: 19, hidden: 9, experts: 3, topK: 2, bias: true, exact: true,
			choose: func(_, i int) int { return 2 - 2*i }},
		"more experts than lanes": {tokens: 150, width: 40, hidden: 24, experts: 35, topK: 3, bias: true,
			choose: func(t, i int) int { return (t*t/7 + 11*i) % 35 }},
		"odd sizes": {tokens: 151, width: 131, hidden: 37, experts: 3, topK: 2, bias: true,
			choose: func(t, i int) int { return (t%5/4 + i) % 3 }},
		"few tokens": {tokens: 2, width: 72, hidden: 160, experts: 6, topK: 2,
			choose: func(t, i int) int { return 3*t + i }},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.opCase(func(m Output) *gorgonia.Node { return m.Y })
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			for precision, tolerance := range optest.DeviceTolerances() {
				t.Run(string(precision), func(t *testing.T) {
					optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: precision}, false, tolerance)
				})
			}
		})
	}
}

// nearInts emits floats in the same graph as a node of Int32.
type nearInts struct{ optest.WeightedLossGrad }

func (nearInts) ReadsInts(int) bool { return true }

// TestDeviceDispatch: the device chooses and sorts as the CPU does, also with ties, infinities and
// thousands of assignments.
func TestDeviceDispatch(t *testing.T) {
	const tokens, number = 700, 70
	logits := make([]float32, tokens*number)
	for i := range logits {
		logits[i] = float32(i * i % 1009 % 4) // many ties
		if i%11 == 0 {
			logits[i] = float32(math.Inf(-1))
		}
	}
	for topK := 1; topK <= 5; topK += 2 {
		for _, output := range []func(m Output) *gorgonia.Node{
			func(m Output) *gorgonia.Node { return m.routing.dispatch },
			Output.Counts,
		} {
			c := optest.Case{NoGradient: true, Ints: []optest.IntInput{{Shape: []int{1}, Draw: optest.Below(2)}}, Build: func(b *graph.Builder, _, ids gorgonia.Nodes) *gorgonia.Node {
				fixed := b.Apply(nearInts{optest.WeightedLossGrad{Weights: logits, X: graph.Signature{DType: tensor.Float32, Shape: tensor.Shape{tokens, number}}}}, ids[0])
				k := Output{routing: &routing{b: b, logits: fixed, experts: experts{topK: topK, number: number}}}
				gates := b.Apply(route{topK: topK}, fixed)
				k.routing.dispatch = b.Secondary(dispatch{size: k.routing.experts.dispatchSize(tokens)}, 0, gates)
				return output(k)
			}}
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			got := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: graph.BF16}, true)
			got.Run(t, graph.RunOptions{})
			require.Equal(t, want.Output(t), got.Output(t))
		}
	}
}

package modeltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// idleGradient is the largest gradient that rounding may leave where the exact one is 0, as a share
// of the model's largest gradient.
const idleGradient = 1e-13

// checkGradients checks that at weights where every part of the model matters, every entry of
// every parameter has a gradient, except for those whose gradient is exactly 0.
func checkGradients(t *testing.T, spec models.Spec, idle IdleFunc) {
	store := PerturbedStore(t, spec, tensor.Float64)
	p := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Auxiliary: auxiliary})
	b := documentBatch(spec, rows, 6)
	p.On(t, b)
	gradients := Gradients(store)
	least := idleGradient * largestOf(gradients)
	for _, param := range store.Params() {
		g := gradients[param.Name]
		require.Len(t, g, param.Size(), "gradient of %q", param.Name)
		zeros := 0
		for _, v := range g {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "gradient of %q has %v", param.Name, v)
			if math.Abs(v) < least {
				zeros++
			}
		}
		declared := 0
		if d, ok := spec.Design().(stream.IdleDesign); ok {
			declared = d.Idle(param.Name, param.Shape)
		}
		assert.LessOrEqual(t, zeros, idleEntries(spec, b, param)+declared+idle(spec, param), "entries of the gradient of %q (%d) that are zero", param.Name,
			param.Size())
		assert.Less(t, zeros, param.Size(), "gradient of %q is zero", param.Name)
	}
}

// idleEntries returns how many entries of a parameter have no gradient on every stream: the
// embedding rows of absent tokens, and biases of keys, which add the same to all of a query's
// logits.
func idleEntries(spec models.Spec, b Batch, p *graph.Param) int {
	switch {
	case looksUp(p) && !(p.Name == "embedding" && spec.TieEmbeddings):
		present := map[int32]bool{}
		for _, id := range b.Inputs {
			present[id] = true
		}
		return (spec.Vocab - len(present)) * (p.Size() / spec.Vocab)
	case strings.HasSuffix(p.Name, ".attention.qkv_bias"):
		return spec.KVHeads() * spec.HeadDim()
	}
	return 0
}

// Finite differences take four losses: f' = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
const (
	differenceStep      = 5e-5
	differenceTolerance = 1e-6
	differenceEntries   = 4 // entries of a parameter: the one with the largest gradient, and random ones; half as many unless long tests run
	// differenceFloor is the smallest denominator of a relative error, as a share of the
	// parameter's largest gradient.
	differenceFloor = 0.01
	// roundingError is the relative rounding error of a loss, and so of a difference of losses. It
	// matters where a gradient is almost 0, as where rows are nearly equal.
	roundingError = 0x1p-52
)

// checkFiniteDifferences checks that in float64 the gradient of the whole model's loss agrees
// with finite differences of the loss, for some entries of every parameter. Dropout is active
// if the config has it.
func checkFiniteDifferences(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	s := Setup{Gradients: true, LossOnly: true, Training: spec.Dropout > 0, Auxiliary: auxiliary}
	b := documentBatch(spec, rows, 7)
	noise := roundingError * Compile(t, spec, store, s).On(t, b, graph.RunOptions{Step: 3}).Loss / differenceStep
	gradients := Gradients(store)
	s.Gradients = false
	p := Compile(t, spec, store, s)
	loss := func() float64 { return p.On(t, b, graph.RunOptions{Step: 3}).Loss }
	draw, number := rand.New(rand.NewPCG(8, 8)), differenceEntries
	if !longtest.Enabled() {
		number /= 2
	}
	for _, param := range store.Params() {
		g, values := gradients[param.Name], param.Value.Float64s()
		entries := []int{argmax(g)}
		for len(entries) < number {
			entries = append(entries, draw.IntN(len(g)))
		}
		floor := differenceFloor * math.Abs(g[entries[0]])
		for _, i := range entries {
			difference := differentiate(&values[i], loss)
			require.InDelta(t, difference, g[i], max(noise, differenceTolerance*max(math.Abs(g[i]), floor)), "%q, entry %d", param.Name, i)
		}
	}
}

func differentiate(x *float64, f func() float64) float64 {
	old := *x
	at := func(h float64) float64 {
		*x = old + h
		return f()
	}
	const h = differenceStep
	d := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	*x = old
	return d
}

func argmax(xs []float64) int {
	best := 0
	for i, x := range xs {
		if math.Abs(x) > math.Abs(xs[best]) {
			best = i
		}
	}
	return best
}

// checkStockGradients checks that gorgonia.Grad and the stock tape machine over the same model
// give the same loss and gradients as a Program.
func checkStockGradients(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	b := documentBatch(spec, rows, 9)
	want := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Auxiliary: auxiliary}).On(t, b)

	g := gorgonia.NewGraph()
	m, err := models.New(g, spec, graph.Options{DType: tensor.Float64, Store: store, Threads: 1})
	require.NoError(t, err)
	loss := m.Loss(m.Forward(intNode(g, "tokens", b, b.Inputs)), intNode(g, "targets", b, b.Targets), auxiliary)
	require.NoError(t, m.Err())
	nodes, err := gorgonia.Grad(loss, m.Learnables()...)
	require.NoError(t, err)
	vm := gorgonia.NewTapeMachine(g)
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	got, err := graph.Scalar(loss)
	require.NoError(t, err)
	require.InEpsilon(t, want.Loss, got, 1e-13, "loss")
	gradients := map[string][]float64{}
	for i, n := range m.Learnables() {
		dense, ok := nodes[i].Value().(*tensor.Dense)
		require.True(t, ok, "gradient of %q is a %T", n.Name(), nodes[i].Value())
		gradients[n.Name()] = graph.Float64s(dense)
	}
	requireClose(t, Gradients(store), gradients, 1e-12, 1e-3*largestOf(gradients), "gradient")
}

func intNode(g *gorgonia.ExprGraph, name string, b Batch, values []int32) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(b.Rows, b.Seq), tensor.WithBacking(slices.Clone(values)))
	return gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(b.Rows, b.Seq), gorgonia.WithName(name), gorgonia.WithValue(value))
}

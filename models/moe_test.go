package models_test

import (
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// emptyExpert is the expert that a router of starve never chooses.
const emptyExpert = 2

// starve sets routers to columns w, -w, 0, v, -v. One column of each pair has a positive logit, so
// that the third expert, whose logit is 0, is never among the first two.
func starve(t *testing.T, spec models.Spec, store *graph.Store) {
	for l := range spec.Layers {
		router := store.Param(site(l, "feedforward") + "router").Value
		values := graph.Float64s(router)
		for i := 0; i < len(values); i += spec.FeedForwardShape().Experts {
			values[i+1], values[i+emptyExpert], values[i+4] = -values[i], 0, -values[i+3]
		}
		require.NoError(t, graph.SetFloat64s(router, values))
	}
}

// TestEmptyExperts: in a whole model an expert without tokens has gradients of exactly 0, whatever
// its weights are, and nothing is NaN. Its column of the router still learns, from the auxiliary
// losses and from the other experts' probabilities.
func TestEmptyExperts(t *testing.T) {
	for name, row := range map[string]struct {
		c models.Config
		a models.Auxiliary
	}{
		"top-1":  {tinyVector(experts(5, 1)), models.Auxiliary{}},
		"top-2":  {tinyVector(all(experts(5, 2), biased)), models.Auxiliary{}},
		"losses": {tinyVector(experts(5, 2)), models.Auxiliary{BalanceLoss: 0.01, RouterZLoss: 1e-3}},
		"matrix": {tinyMatrix(experts(5, 2)), models.Auxiliary{}},
		"mhc":    {tinyZoo(stream.MHCConfig{N: 2}, experts(5, 2)), models.Auxiliary{}},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) { checkEmptyExperts(t, modeltest.Resolve(t, row.c), row.a, dt) })
		}
	}
}

func checkEmptyExperts(t *testing.T, spec models.Spec, a models.Auxiliary, dt tensor.Dtype) {
	store := modeltest.PerturbedStore(t, spec, dt)
	starve(t, spec, store)
	p, b := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true, Auxiliary: a}), modeltest.RandomBatch(spec, 2, spec.Seq, 1)
	before := p.On(t, b, graph.RunOptions{})
	for _, param := range store.Params() {
		for i, v := range graph.Float64s(param.Grad) {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s, entry %d: %v", param.Name, i, v)
		}
	}
	for l := range spec.Layers {
		prefix := site(l, "feedforward")
		checkEmptyGradients(t, spec, store, prefix)
		checkRouterGradient(t, spec, a, store.Param(prefix+"router"))
	}
	p.On(t, b, graph.RunOptions{Accumulate: true})
	checkEmptyGradients(t, spec, store, site(0, "feedforward"))
	fillExpert(t, spec, store, 1e30)
	require.Equal(t, before, p.On(t, b, graph.RunOptions{}), "weights of an expert without tokens")
}

// expertOf returns one expert's part of a tensor whose first axis counts experts.
func expertOf(spec models.Spec, values []float64, expert int) []float64 {
	size := len(values) / spec.FeedForwardShape().Experts
	return values[expert*size : (expert+1)*size]
}

// expertNames lists the experts' parameters.
func expertNames(spec models.Spec) []string {
	if spec.Bias {
		return []string{"w1", "w1_bias", "w2", "w2_bias"}
	}
	return []string{"w1", "w2"}
}

// checkEmptyGradients requires gradients of 0 for the empty expert, and others for the rest
// together.
func checkEmptyGradients(t *testing.T, spec models.Spec, store *graph.Store, prefix string) {
	t.Helper()
	for _, name := range expertNames(spec) {
		g := graph.Float64s(store.Param(prefix + name).Grad)
		learned := 0.0
		for expert := range spec.FeedForwardShape().Experts {
			for _, v := range expertOf(spec, g, expert) {
				learned += math.Abs(v)
				if expert == emptyExpert {
					require.Zero(t, v, prefix+name)
				}
			}
		}
		require.NotZero(t, learned, prefix+name)
	}
}

// checkRouterGradient: the router's column of an expert that is not chosen gets a gradient for k =
// 1, where the gate is the probability itself, and from an auxiliary loss, which uses all
// probabilities. With k > 1 and no auxiliary loss it gets none, because the gates do not depend on
// it.
func checkRouterGradient(t *testing.T, spec models.Spec, a models.Auxiliary, router *graph.Param) {
	t.Helper()
	learns := spec.FeedForwardShape().Used == 1 || a.BalanceLoss > 0
	for i, v := range graph.Float64s(router.Grad) {
		if i%spec.FeedForwardShape().Experts == emptyExpert {
			require.Equal(t, learns, v != 0, "gradient %g of the empty expert's column of %q", v, router.Name)
		}
	}
}

func fillExpert(t *testing.T, spec models.Spec, store *graph.Store, value float64) {
	for l := range spec.Layers {
		for _, name := range expertNames(spec) {
			param := store.Param(site(l, "feedforward") + name).Value
			values := graph.Float64s(param)
			for i := range expertOf(spec, values, emptyExpert) {
				expertOf(spec, values, emptyExpert)[i] = value
			}
			require.NoError(t, graph.SetFloat64s(param, values))
		}
	}
}

// TestExpertsInAModel compares a block's mixture, and how many tokens each expert gets, with loops
// over tokens and experts.
func TestExpertsInAModel(t *testing.T) {
	for _, k := range []int{1, 2, 5} {
		c := modeltest.Resolve(t, tinyVector(experts(5, k)))
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		starve(t, c, store)
		prefix, b := site(1, "feedforward"), modeltest.RandomBatch(c, 2, c.Seq, 1)
		p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: graph.Hooks{prefix + "in": nil, prefix + "out": nil}})
		p.On(t, b, graph.RunOptions{})
		u, err := p.Hooked(prefix + "in")
		require.NoError(t, err)
		y, err := p.Hooked(prefix + "out")
		require.NoError(t, err)
		want, counts := mixture(c, modeltest.Values(store), prefix, graph.Float64s(u))
		assert.LessOrEqual(t, modeltest.Distance(graph.Float64s(y), want), 1e-12, "top %d", k)
		assert.Equal(t, counts, countsOf(t, c, store, b)[1], "top %d: tokens an expert", k)
		assert.Equal(t, k == 5, counts[emptyExpert] > 0, "top %d", k)
	}
}

// mixture returns a mixture's output y for u [T, D], and the number of tokens of each expert.
func mixture(spec models.Spec, w map[string][]float64, prefix string, u []float64) ([]float64, []int32) {
	d, f := spec.Width(), spec.FeedForwardShape()
	y, counts := make([]float64, len(u)), make([]int32, f.Experts)
	for at := 0; at < len(u); at += d {
		logits := matmul(u[at:at+d], w[prefix+"router"], d)
		order, z, chosen := make([]int, f.Experts), 0.0, 0.0
		for e := range order {
			order[e] = e
			z += math.Exp(logits[e])
		}
		sort.SliceStable(order, func(i, j int) bool { return logits[order[i]] > logits[order[j]] })
		for _, e := range order[:f.Used] {
			chosen += math.Exp(logits[e])
		}
		if f.Used == 1 {
			chosen = z
		}
		for _, e := range order[:f.Used] {
			counts[e]++
			hidden := geluTanh(matmul(u[at:at+d], expertOf(spec, w[prefix+"w1"], e), d))
			for i, v := range matmul(hidden, expertOf(spec, w[prefix+"w2"], e), f.Hidden) {
				y[at+i] += math.Exp(logits[e]) / chosen * v
			}
		}
	}
	return y, counts
}

// countsOf runs a model and returns the number of tokens of each expert, one row for each block.
func countsOf(t *testing.T, spec models.Spec, store *graph.Store, batch modeltest.Batch) [][]int32 {
	var counts gorgonia.Nodes
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store, DType: store.DType(), Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, spec)
		if err != nil {
			return graph.Roots{}, err
		}
		logits := m.Logits(m.Forward(b.Input("tokens", tensor.Int32, batch.Rows, batch.Seq)))
		counts = m.ExpertCounts()
		return graph.Roots{Outputs: append(gorgonia.Nodes{logits}, counts...)}, m.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	copy(p.Ints("tokens"), batch.Inputs)
	require.NoError(t, p.Run(graph.RunOptions{}))
	var all [][]int32
	for _, n := range counts {
		all = append(all, n.Value().(*tensor.Dense).Int32s())
	}
	return all
}

// TestEqualExperts: a mixture of equal experts computes what one of them does as a feed-forward,
// for any router, because the gates sum to 1. For k = 1 this is tested with one expert.
func TestEqualExperts(t *testing.T) {
	dense := modeltest.Resolve(t, tinyVector(biased))
	b := modeltest.RandomBatch(dense, 2, dense.Seq, 1)
	feedForward := modeltest.PerturbedStore(t, dense, tensor.Float64)
	want := modeltest.Compile(t, dense, feedForward, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
	for _, sizes := range [][2]int{{1, 1}, {3, 2}, {4, 4}} {
		c := modeltest.Resolve(t, tinyVector(all(biased, experts(sizes[0], sizes[1]))))
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		for _, p := range feedForward.Params() {
			values, own := graph.Float64s(p.Value), store.Param(p.Name)
			for len(values) < own.Size() {
				values = append(values, graph.Float64s(p.Value)...)
			}
			require.NoError(t, graph.SetFloat64s(own.Value, values))
		}
		got := modeltest.Compile(t, c, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
		assert.LessOrEqual(t, modeltest.Distance(got, want), 1e-12, "top %d of %d", sizes[1], sizes[0])
	}
}

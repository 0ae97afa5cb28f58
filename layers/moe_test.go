package layers_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

const (
	moeTokens, moeIn, moeHidden, moeExperts = 5, 6, 4, 3
)

// moeConfig returns a mixture that uses k experts for each token.
func moeConfig(k int) layers.MoEConfig {
	return layers.MoEConfig{Hidden: moeHidden, Experts: moeExperts, TopK: k}
}

func moeSizes(bias, writes bool) layers.FeedForwardSizes {
	return layers.FeedForwardSizes{In: moeIn, Bias: bias, AddsOutput: writes, ExactGelu: true, Init: layers.Init{Std: 1}}
}

// moeGates returns the gates [T, E] of the k experts with the highest probabilities, 0 elsewhere,
// and the probabilities.
func moeGates(logits []float64, k int) (gates, p []float64) {
	gates, p = make([]float64, len(logits)), make([]float64, len(logits))
	for t := 0; t < len(logits); t += moeExperts {
		var z float64
		for _, l := range logits[t : t+moeExperts] {
			z += math.Exp(l)
		}
		var chosen float64
		for e, l := range logits[t : t+moeExperts] {
			p[t+e] = math.Exp(l) / z
			higher := 0
			for _, other := range logits[t : t+moeExperts] {
				if other > l {
					higher++
				}
			}
			if higher < k {
				gates[t+e] = p[t+e]
				chosen += p[t+e]
			}
		}
		for e := range moeExperts {
			if k > 1 {
				gates[t+e] /= chosen
			}
		}
	}
	return gates, p
}

// expertOutputs computes each expert as a separate feed-forward, [T, E, In].
func expertOutputs(e *evaluation, bias bool, u []float64) []float64 {
	gelu := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	outputs := make([]float64, len(u)*moeExperts)
	for i := range moeExperts {
		size := moeIn * moeHidden
		h := product(u, e.param("ff.w1")[i*size:(i+1)*size], moeIn, moeHidden)
		if bias {
			added(h, e.param("ff.w1_bias")[i*moeHidden:(i+1)*moeHidden])
		}
		for j := range h {
			h[j] = gelu(h[j])
		}
		y := product(h, e.param("ff.w2")[i*size:(i+1)*size], moeHidden, moeIn)
		if bias {
			added(y, e.param("ff.w2_bias")[i*moeIn:(i+1)*moeIn])
		}
		for j := range y {
			outputs[(j/moeIn*moeExperts+i)*moeIn+j%moeIn] = y[j]
		}
	}
	return outputs
}

// TestMoE compares with each expert as a separate feed-forward; u may have several axes. Hooking
// gates or the experts' terms changes nothing, and the hooks see the right values.
func TestMoE(t *testing.T) {
	watched := [][]string{{"ff.in", "ff.out"}, {"ff.gates"}, {"ff.experts"}, {"ff.in", "ff.gates", "ff.experts", "ff.out"}}
	for _, row := range []struct {
		k            int
		bias, writes bool
	}{{1, false, false}, {2, true, false}, {3, false, true}, {1, true, false}} {
		for _, names := range watched {
			hooks := graph.Hooks{}
			for _, name := range names {
				hooks[name] = nil
			}
			e := compile(t, hooks, func(b *graph.Builder) *gorgonia.Node {
				return moeConfig(row.k).New(b, "ff", moeSizes(row.bias, row.writes)).Forward(b.Input("u", tensor.Float64, moeTokens, 2, 3))
			})
			u := noise(3, moeTokens*moeIn)
			gates, _ := moeGates(product(u, e.param("ff.router"), moeIn, moeExperts), row.k)
			terms, want := expertOutputs(e, row.bias, u), make([]float64, len(u))
			for j := range terms {
				terms[j] *= gates[j/moeIn]
				want[j/moeIn/moeExperts*moeIn+j%moeIn] += terms[j]
			}
			got := e.on(map[string][]float64{"u": u})
			require.InDeltaSlice(t, want, got, 20*tolerance, "%+v", row)
			for name, want := range map[string][]float64{"ff.gates": gates, "ff.experts": terms, "ff.out": got} {
				hooked, err := e.Hooked(name)
				if !slices.Contains(names, name) {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.InDeltaSlice(t, want, graph.Float64s(hooked), 20*tolerance, "%s, %+v", name, row)
			}
		}
	}
}

// TestMoEReplaced: y is computed from the gates and terms that hooks leave; the gate of an expert
// that was not chosen is not read.
func TestMoEReplaced(t *testing.T) {
	var gates []float64
	ones := func(_ string, x *tensor.Dense) error {
		gates = graph.Float64s(x)
		for i := range gates {
			x.Float64s()[i] = 1
		}
		return nil
	}
	var terms []float64
	negate := func(_ string, x *tensor.Dense) error {
		terms = graph.Float64s(x)
		for i := range terms {
			x.Float64s()[i] = -2 * terms[i]
		}
		return nil
	}
	e := compile(t, graph.Hooks{"ff.gates": ones, "ff.experts": negate}, func(b *graph.Builder) *gorgonia.Node {
		return layers.NewMoE(b, "ff", moeConfig(2), moeSizes(true, false)).Forward(b.Input("u", tensor.Float64, moeTokens, moeIn))
	})
	u := noise(3, moeTokens*moeIn)
	got := e.on(map[string][]float64{"u": u})
	wantTerms, want := expertOutputs(e, true, u), make([]float64, len(u))
	for j := range wantTerms {
		if gates[j/moeIn] == 0 {
			wantTerms[j] = 0
		}
		want[j/moeIn/moeExperts*moeIn+j%moeIn] -= 2 * wantTerms[j]
	}
	require.InDeltaSlice(t, wantTerms, terms, 20*tolerance)
	require.InDeltaSlice(t, want, got, 20*tolerance)
}

// TestMoEAccessors checks the auxiliary losses and counts of the last Forward.
func TestMoEAccessors(t *testing.T) {
	const k = 2
	var balance, z, counts *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{DType: tensor.Float64, Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		m := layers.NewMoE(b, "ff", moeConfig(k), layers.FeedForwardSizes{In: moeIn, Init: layers.Init{Std: 1}})
		assert.Nil(t, m.Balance(), "before Forward")
		assert.Nil(t, m.RouterZ())
		assert.Nil(t, m.Counts())
		y := m.Forward(b.Input("u", tensor.Float64, moeTokens, moeIn))
		balance, z, counts = m.Balance(), m.RouterZ(), m.Counts()
		assert.Same(t, counts, m.Counts(), "one node, however often it is asked for")
		return graph.Roots{Outputs: gorgonia.Nodes{y, balance, z, counts}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	u, router := noise(3, moeTokens*moeIn), noise(4, moeIn*moeExperts)
	require.NoError(t, graph.SetFloat64s(p.Input("u"), u))
	require.NoError(t, graph.SetFloat64s(p.Store().Param("ff.router").Value, router))
	require.NoError(t, p.Run(graph.RunOptions{}))

	logits := product(u, router, moeIn, moeExperts)
	gates, probabilities := moeGates(logits, k)
	var wantBalance, wantZ float64
	wantCounts := make([]int32, moeExperts)
	for e := range moeExperts {
		var mean float64
		for t := range moeTokens {
			mean += probabilities[t*moeExperts+e] / moeTokens
			if gates[t*moeExperts+e] > 0 {
				wantCounts[e]++
			}
		}
		wantBalance += moeExperts * mean * float64(wantCounts[e]) / (k * moeTokens)
	}
	for t := range moeTokens {
		logZ := logits[t*moeExperts] - math.Log(probabilities[t*moeExperts])
		wantZ += logZ * logZ / moeTokens
	}
	assert.Equal(t, wantCounts, counts.Value().Data())
	for want, n := range map[float64]*gorgonia.Node{wantBalance: balance, wantZ: z} {
		got, err := graph.Scalar(n)
		require.NoError(t, err)
		assert.InDelta(t, want, got, 1e-12)
	}
}

// TestMoEParameters checks names, shapes and initial values; each expert starts like a GELU.
func TestMoEParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	init := layers.Init{Std: 2, Embedding: 0.1, Layers: 2}
	c := layers.MoEConfig{Hidden: 25, Experts: 3, TopK: 2}
	layers.NewMoE(b, "hidden", c, layers.FeedForwardSizes{In: 16, WidthRatio: 2, HiddenRatio: 3, Init: init})
	layers.NewMoE(b, "written", c, layers.FeedForwardSizes{In: 16, Bias: true, AddsOutput: true, Init: init})
	require.NoError(t, b.Err())
	var got []graph.ParamSpec
	for _, p := range b.Store().Params() {
		got = append(got, p.ParamSpec)
	}
	assert.Equal(t, []graph.ParamSpec{
		{Name: "hidden.router", Shape: []int{16, 3}, Init: graph.Normal(0.02), Decay: true, WidthRatio: 2, Role: graph.RoleHidden},
		{Name: "hidden.w1", Shape: []int{3, 16, 25}, Init: graph.Normal(0.5), Decay: true, WidthRatio: 2, Role: graph.RoleHidden},
		{Name: "hidden.w2", Shape: []int{3, 25, 16}, Init: graph.Normal(0.4), Decay: true, WidthRatio: 3, Role: graph.RoleHidden},
		{Name: "written.router", Shape: []int{16, 3}, Init: graph.Normal(0.02), Decay: true, Role: graph.RoleHidden},
		{Name: "written.w1", Shape: []int{3, 16, 25}, Init: graph.Normal(0.5), Decay: true, Role: graph.RoleHidden},
		{Name: "written.w2", Shape: []int{3, 25, 16}, Init: graph.Normal(0.2), Decay: true, Role: graph.RoleHidden},
		{Name: "written.w1_bias", Shape: []int{3, 25}},
		{Name: "written.w2_bias", Shape: []int{3, 16}},
	}, got)
}

package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// Every stream tells its form.
var _ = []stream.FormDescriber{(*stream.Vector)(nil), (*stream.Matrix)(nil), (*stream.Rows)(nil),
	(*stream.GatedResidual)(nil), (*stream.VWN)(nil), (*stream.Highway)(nil), (*stream.Hieragg)(nil), (*stream.DWLSTM)(nil)}

// TestDWLSTMForm: with the same h and o, c' is linear in c with factors A_res that are in
// (0, 1) and change with the token. At first they are the sigmoid of 1 plus a norm.
func TestDWLSTMForm(t *testing.T) {
	d := dwlstmConfig()
	h, o := noise(1, siteTokens*d.D), noise(2, siteTokens*d.D)
	var form stream.Form
	cell := func(fresh bool, c float64) ([]float64, *graph.Store) {
		states := make([]float64, siteTokens*d.D)
		for i := range states {
			states[i] = c
		}
		return evaluateFrom(t, fresh, func(b *graph.Builder) *gorgonia.Node {
			v := stream.NewDWLSTM(b, d)
			form = v.Form(v.Sites(1)[0])
			state := stream.VectorState{H: b.Input("h", tensor.Float64, siteTokens, d.D), More: gorgonia.Nodes{b.Input("c", tensor.Float64, siteTokens, d.D)}}
			return v.WriteHeads(state, v.Sites(1)[0], nil, b.Input("o", tensor.Float64, siteTokens, d.D)).Nodes()[1]
		}, map[string][]float64{"h": h, "c": states, "o": o})
	}
	for _, fresh := range []bool{false, true} {
		none, store := cell(fresh, 0)
		one, _ := cell(fresh, 1)
		three, _ := cell(fresh, 3)
		require.Equal(t, []int{d.D, d.D}, []int{form.Res.Rows, form.Res.Columns})
		require.True(t, form.Res.Diagonal)
		require.Equal(t, stream.WithinOne, form.Res.Constraint)
		forget := make([]float64, len(one))
		for i := range one {
			forget[i] = one[i] - none[i]
			require.InDelta(t, none[i]+3*forget[i], three[i], 1e-12, "linear in c")
			require.True(t, forget[i] > 0 && forget[i] < 1, "%g", forget[i])
		}
		assert.InDeltaSlice(t, gateOf(t, store, form.Res.Parameters, d, h, o), forget, 1e-11, "by the parameters that it names")
		assert.NotEqual(t, forget[:d.D], forget[d.D:2*d.D], "two tokens")
		if fresh {
			checkFreshGate(t, forget, d.D)
		}
	}
}

// gateOf is sigmoid(Norm([a; h] w) gain + bias), a = W_O o, of the parameters w, gain, bias.
func gateOf(t *testing.T, s *graph.Store, parameters []string, d stream.DWLSTMConfig, h, o []float64) []float64 {
	require.Len(t, parameters, 3)
	a := mapped(o, value(t, s, "blocks.1.attention.o"), nil, d.D, d.D)
	var joined []float64
	for at := 0; at < len(h); at += d.D {
		joined = append(append(joined, a[at:at+d.D]...), h[at:at+d.D]...)
	}
	x := layerNorm(mapped(joined, value(t, s, parameters[0]), nil, 2*d.D, d.D), value(t, s, parameters[1]), eps)
	for i := range x {
		x[i] += value(t, s, parameters[2])[i%d.D]
	}
	return sigmoids(x)
}

// checkFreshGate: before the sigmoid a token's gates have the mean 1, that of the bias, and
// the deviation 1 of a norm whose gain is 1.
func checkFreshGate(t *testing.T, gates []float64, d int) {
	for at := 0; at < len(gates); at += d {
		mean, variance := 0.0, 0.0
		for _, f := range gates[at : at+d] {
			logit := math.Log(f / (1 - f))
			mean, variance = mean+logit/float64(d), variance+(logit-1)*(logit-1)/float64(d)
		}
		assert.InDelta(t, 1, mean, 1e-9)
		assert.InDelta(t, 1, variance, 1e-3, "but for the norm's eps")
	}
}

// evaluateFrom runs a node with noise in all parameters, or with those that it starts with.
func evaluateFrom(t *testing.T, fresh bool, build func(b *graph.Builder) *gorgonia.Node, floats map[string][]float64) ([]float64, *graph.Store) {
	t.Helper()
	if !fresh {
		return evaluate(t, build, floats, nil)
	}
	g := gorgonia.NewGraph()
	b := graph.On(g, graph.Options{DType: tensor.Float64, Threads: 1})
	output := build(b)
	require.NoError(t, b.Err())
	for name, values := range floats {
		let(t, g, name, values)
	}
	vm := gorgonia.NewTapeMachine(g)
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	return graph.Float64s(output.Value().(*tensor.Dense)), b.Store()
}

// TestFormsNameTheirSite: a form names the site, and the parameters, of the block that is asked
// for.
func TestFormsNameTheirSite(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	v := stream.NewHyper(b, stream.HyperConfig{Vectors: vectors(), N: 3, Dynamic: true})
	require.NoError(t, b.Err())
	f := v.Form(v.Sites(1)[1])
	const site = "blocks.1.feedforward"
	assert.Equal(t, site, f.Site)
	assert.Equal(t, []string{site + ".hyper.static", site + ".hyper.norm", site + ".hyper.w", site + ".hyper.scale"}, f.Res.Parameters)
	assert.Equal(t, []float64{1, 0, 0}, f.Down.Start.Values, "site 3 of three rows")
}

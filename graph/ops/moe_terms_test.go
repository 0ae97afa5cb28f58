package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/moe"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

// moeTermsCases are mixtures with functions that change the gates or the terms: y is linear in
// both.
func moeTermsCases() []optest.Case {
	scaled := func(factor float64) func(*graph.Builder) func(*gorgonia.Node) *gorgonia.Node {
		return func(b *graph.Builder) func(*gorgonia.Node) *gorgonia.Node {
			return func(x *gorgonia.Node) *gorgonia.Node { return elementwise.Scale(b, x, factor) }
		}
	}
	make := func(name string, s moeSizes, gates, terms func(*graph.Builder) func(*gorgonia.Node) *gorgonia.Node, factor float64) optest.Case {
		return optest.Case{Name: "MoE/" + name, Floats: s.shapes(),
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				o := moe.Options{TopK: s.topK, ExactGelu: s.exact}
				if s.bias {
					o.B1, o.B2 = x[4], x[5]
				}
				if gates != nil {
					o.Gates = gates(b)
				}
				if terms != nil {
					o.Terms = terms(b)
				}
				return moe.Mixture(b, x[0], x[1], x[2], x[3], o).Y
			},
			Want: func(x [][]float64, _ [][]int32) []float64 { return optest.WantScale(wantMoE(x, s).y, factor) }}
	}
	plain := moeSizes{u: []int{5, 3}, experts: 4, hidden: 2, topK: 2}
	biased := moeSizes{u: []int{5, 2, 3}, experts: 3, hidden: 5, topK: 2, bias: true}
	one := moeSizes{u: []int{3, 5}, experts: 3, hidden: 3, topK: 1, bias: true, exact: true}
	return []optest.Case{
		make("terms", plain, nil, scaled(3), 3),
		make("terms, one, biases", one, nil, scaled(-1), -1),
		make("gates", plain, scaled(0.5), nil, 0.5),
		make("gates and terms, biases", biased, scaled(0.5), scaled(3), 1.5),
	}
}

// wantTerms computes each expert's gated outputs, [T, E, D], and the gates, [T, E], from mixtures
// in which only one expert has an output.
func wantTerms(x [][]float64, s moeSizes) (terms, gates []float64) {
	width := s.width()
	terms, gates = make([]float64, s.u[0]*s.experts*width), make([]float64, s.u[0]*s.experts)
	for e := range s.experts {
		alone, ones := append([][]float64(nil), x...), append([][]float64(nil), x...)
		alone[3], alone[5] = onlyExpert(x[3], s.experts, e), onlyExpert(x[5], s.experts, e)
		ones[3], ones[5] = make([]float64, len(x[3])), make([]float64, len(x[5]))
		for i := range width {
			ones[5][e*width+i] = 1
		}
		gate := wantMoE(ones, s).y
		for i, v := range wantMoE(alone, s).y {
			terms[(i/width*s.experts+e)*width+i%width] = v
			gates[i/width*s.experts+e] = gate[i]
		}
	}
	return terms, gates
}

// onlyExpert keeps expert e's share of x and sets the rest to 0.
func onlyExpert(x []float64, experts, e int) []float64 {
	y, size := make([]float64, len(x)), len(x)/experts
	copy(y[e*size:(e+1)*size], x[e*size:])
	return y
}

// TestMoETerms: the functions see each expert's gated output, including its share of b2, and the
// gates; both are exactly 0 for experts that are not chosen. Watching them does not change the
// result, the losses or the counts.
func TestMoETerms(t *testing.T) {
	s := moeSizes{u: []int{9, 3}, experts: 4, hidden: 5, topK: 2, bias: true}
	var watched, plain moe.Output
	var gates, terms *gorgonia.Node
	o := graph.ProgramOptions{Options: graph.Options{Threads: 2, DType: tensor.Float64}}
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		var x gorgonia.Nodes
		for i, shape := range s.shapes() {
			x = append(x, b.Param(graph.ParamSpec{Name: string(rune('a' + i)), Shape: shape, Init: graph.Normal(1)}))
		}
		plain = s.build(b, x)
		watched = moe.Mixture(b, x[0], x[1], x[2], x[3], moe.Options{TopK: s.topK, B1: x[4], B2: x[5],
			Gates: func(g *gorgonia.Node) *gorgonia.Node { gates = g; return g },
			Terms: func(x *gorgonia.Node) *gorgonia.Node { terms = x; return x }})
		return graph.Roots{Outputs: gorgonia.Nodes{plain.Y, plain.Balance(), watched.Y, watched.Balance(), watched.Counts(), gates, terms}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(graph.RunOptions{}))
	var x [][]float64
	for _, param := range p.Store().Params() {
		x = append(x, graph.Float64s(param.Value))
	}
	wantT, wantG := wantTerms(x, s)
	require.Equal(t, tensor.Shape{9, 4, 3}, terms.Shape())
	require.Equal(t, tensor.Shape{9, 4}, gates.Shape())
	gotT, gotG := optest.ValuesOf(t, terms.Value()), optest.ValuesOf(t, gates.Value())
	require.InDeltaSlice(t, wantT, gotT, 1e-12)
	require.InDeltaSlice(t, wantG, gotG, 1e-12)
	chosen := 0
	for i, g := range gotG {
		if wantG[i] != 0 {
			chosen++
			continue
		}
		require.Zero(t, g)
		require.Equal(t, []float64{0, 0, 0}, gotT[3*i:3*i+3])
	}
	require.Equal(t, 9*s.topK, chosen)
	require.InDeltaSlice(t, optest.ValuesOf(t, plain.Y.Value()), optest.ValuesOf(t, watched.Y.Value()), 1e-12)
	require.Equal(t, optest.ScalarOf(t, plain.Balance()), optest.ScalarOf(t, watched.Balance()))
	require.Equal(t, wantMoE(x, s).counts, optest.ValuesOf(t, watched.Counts().Value()))
}

// TestMoETermsFLOPs: with the functions, the matrix products are the same as without.
func TestMoETermsFLOPs(t *testing.T) {
	s := moeSizes{u: []int{6, 3}, experts: 4, hidden: 5, topK: 2}
	for _, watched := range []bool{false, true} {
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Seed: 1}, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
			var x gorgonia.Nodes
			for i, shape := range s.shapes() {
				x = append(x, b.Param(graph.ParamSpec{Name: string(rune('a' + i)), Shape: shape, Init: graph.Normal(1)}))
			}
			o := moe.Options{TopK: s.topK}
			if same := func(x *gorgonia.Node) *gorgonia.Node { return x }; watched {
				o.Gates, o.Terms = same, same
			}
			y := moe.Mixture(b, x[0], x[1], x[2], x[3], o).Y
			w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{3, 7}, Init: graph.Normal(1)})
			return graph.Roots{Loss: loss.CrossEntropy(b, y, w, b.Input("targets", tensor.Int32, 6), loss.Options{})}, b.Err()
		})
		require.NoError(t, err)
		require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
		require.Equal(t, 2*6*3*4+2*2*6*2*3*5+2*6*3*7, p.ForwardFLOPs())
		require.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
		p.Close()
	}
}

// TestMoETermsBadFunctions: the results of the functions are checked.
func TestMoETermsBadFunctions(t *testing.T) {
	for want, o := range map[string]moe.Options{
		"graph: MoE: Gates: want it to return a node of shape (6, 4), got nil": {
			Gates: func(*gorgonia.Node) *gorgonia.Node { return nil }},
		"graph: MoE: Terms: want it to return a node of shape (6, 4, 3), got float32 (6, 4)": {
			Gates: func(g *gorgonia.Node) *gorgonia.Node { return g },
			Terms: func(x *gorgonia.Node) *gorgonia.Node {
				b := graph.On(x.Graph(), graph.Options{})
				sum := shape.SumCopies(b, x)
				return shape.Slice(b, shape.Concat(b, sum, sum), 0, 4)
			}},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		o.TopK = 2
		m := moe.Mixture(b, b.Input("u", tensor.Float32, 6, 3), b.Input("router", tensor.Float32, 3, 4),
			b.Input("w1", tensor.Float32, 4, 3, 5), b.Input("w2", tensor.Float32, 4, 5, 3), o)
		require.Nil(t, m.Y)
		optest.RequireLine(t, b.Err(), want)
	}
}

package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/moe"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

// TestMoECasesHaveNoTies: difference quotients have a meaning only if a step changes no choice. A
// step moves a logit by at most 2 gradientSteps times an entry of u or router.
func TestMoECasesHaveNoTies(t *testing.T) {
	for _, c := range moeCases() {
		m := optest.NewProgram(t, c, graph.NewStore(tensor.Float64, 3), graph.ProgramOptions{})
		m.Feed(c, 1)
		x := m.FloatsSeen(c)
		s := moeSizes{u: c.Floats[0], experts: c.Floats[1][1], hidden: c.Floats[2][2], topK: min(2, c.Floats[1][1])}
		for k := 1; k <= s.topK; k++ {
			s.topK = k
			assert.Greater(t, wantMoE(x, s).gap, 50*optest.GradientStep, "%s, %d", c.Name, k)
		}
	}
}

// moeProgram computes a loss over two blocks with a mixture in each, and both auxiliary losses.
func moeProgram(t *testing.T, o graph.ProgramOptions, s moeSizes, outputs *[]moe.Output) *graph.Program {
	t.Helper()
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		*outputs = nil
		x := embedding.Gather(b, b.Param(graph.ParamSpec{Name: "table", Shape: []int{11, s.width()}, Init: graph.Normal(1)}), b.Input("ids", tensor.Int32, s.u[0]), 1)
		var terms gorgonia.Nodes
		var counts gorgonia.Nodes
		for i := range 2 {
			b.Block(func() {
				nodes := gorgonia.Nodes{norm.Apply(b, x, b.Param(graph.ParamSpec{Name: fmt.Sprint("gain", i), Shape: []int{s.width()}, Init: graph.Ones()}), norm.Options{RMS: true})}
				for j, shape := range s.shapes()[1:] {
					nodes = append(nodes, b.Param(graph.ParamSpec{Name: fmt.Sprintf("x%d.%d", i, j+1), Shape: shape, Init: graph.Normal(0.7)}))
				}
				m := s.build(b, nodes)
				x = b.Add(x, m.Y)
				*outputs = append(*outputs, m)
			})
		}
		for _, m := range *outputs {
			terms = append(terms, elementwise.Scale(b, m.Balance(), 0.3), elementwise.Scale(b, m.RouterZ(), 0.1))
			counts = append(counts, m.Counts())
		}
		w := b.Param(graph.ParamSpec{Name: "unembedding", Shape: []int{s.width(), 11}, Init: graph.Normal(1)})
		loss := loss.CrossEntropy(b, x, w, b.Input("targets", tensor.Int32, s.u[0]), loss.Options{})
		return graph.Roots{Loss: b.Add(append(terms, loss)...), Outputs: counts}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	for i := range s.u[0] {
		p.Ints("ids")[i], p.Ints("targets")[i] = int32(i*7%11), int32(i*5%11)
	}
	return p
}

// TestMoEInBlocks checks every gradient of mixtures with auxiliary losses by difference quotients;
// recomputation and separate buffers give the same bits.
func TestMoEInBlocks(t *testing.T) {
	s := moeSizes{u: []int{9, 3}, experts: 4, hidden: 5, topK: 2, bias: true}
	var outputs []moe.Output
	o := graph.Options{Threads: 2, DType: tensor.Float64, Seed: 5}
	p := moeProgram(t, graph.ProgramOptions{Options: o, Gradients: true}, s, &outputs)
	m := &optest.Machine{Run: func() error { return p.Run(graph.RunOptions{}) }, Loss: func() float64 { return optest.ScalarOf(t, p.Roots().Loss) }}
	require.NoError(t, m.Run())
	params := p.Store().Params()
	var grads [][]float64
	for _, param := range params {
		grads = append(grads, graph.Float64s(param.Grad))
	}
	for _, options := range []graph.ProgramOptions{{Recompute: graph.RecomputeBlock}, {Separate: true}} {
		options.Options, options.Gradients = o, true
		var unread []moe.Output
		q := moeProgram(t, options, s, &unread)
		require.NoError(t, q.Run(graph.RunOptions{}))
		for i, param := range q.Store().Params() {
			require.Equal(t, grads[i], graph.Float64s(param.Grad), "%+v: %s", options, param.Name)
		}
	}
	for i, param := range params {
		optest.CheckQuotients(t, m, param.Value.Float64s(), grads[i], 10*optest.GradientTolerance, param.Name)
	}
	require.NoError(t, p.Run(graph.RunOptions{})) // the last run of the quotients had other parameters
	require.NoError(t, p.Run(graph.RunOptions{Accumulate: true}))
	for i, param := range params {
		require.InDeltaSlice(t, optest.WantScale(grads[i], 2), graph.Float64s(param.Grad), 1e-12, param.Name)
	}
	for _, m := range outputs {
		counts := optest.ValuesOf(t, m.Counts().Value())
		require.Len(t, counts, s.experts)
		require.EqualValues(t, s.topK*s.u[0], counts[0]+counts[1]+counts[2]+counts[3])
		require.Same(t, m.Balance(), m.Balance())
	}
}

// TestMoEForwardOnly checks a mixture without gradients, with nodes only for what is used.
func TestMoEForwardOnly(t *testing.T) {
	s := moeSizes{u: []int{7, 3}, experts: 4, hidden: 5, topK: 2}
	var m moe.Output
	var x gorgonia.Nodes
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, DType: tensor.Float64}}, func(b *graph.Builder) (graph.Roots, error) {
		x = nil
		for i, shape := range s.shapes() {
			x = append(x, b.Param(graph.ParamSpec{Name: fmt.Sprint("x", i), Shape: shape, Init: graph.Normal(1)}))
		}
		m = s.build(b, x)
		return graph.Roots{Outputs: gorgonia.Nodes{m.Y, m.Counts(), m.Balance()}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(graph.RunOptions{}))
	var values [][]float64
	for _, param := range p.Store().Params() {
		values = append(values, graph.Float64s(param.Value))
	}
	want := wantMoE(values, s)
	require.InDeltaSlice(t, want.y, optest.ValuesOf(t, m.Y.Value()), 1e-12)
	require.Equal(t, want.counts, optest.ValuesOf(t, m.Counts().Value()))
	require.InDelta(t, want.balance, optest.ScalarOf(t, m.Balance()), 1e-12)
}

// TestMoEFLOPs checks the FLOPs of the experts' and the router's products, which a training step
// counts three times.
func TestMoEFLOPs(t *testing.T) {
	s := moeSizes{u: []int{6, 3}, experts: 4, hidden: 5, topK: 2}
	var outputs []moe.Output
	p := moeProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1, Seed: 1}, Gradients: true}, s, &outputs)
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const mixture = 2*6*3*4 + 2*2*6*2*3*5
	require.Equal(t, 2*mixture+2*6*3*11, p.ForwardFLOPs())
	require.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
}

// TestMoEBadInputs checks the errors of MoE.
func TestMoEBadInputs(t *testing.T) {
	for want, c := range map[string]struct {
		u, router, w1, w2, b1, b2 []int
		topK                      int
	}{
		"top-k: want 1 to 4, the number of experts, got 5":              {topK: 5},
		"top-k: want 1 to 4, the number of experts, got 0":              {topK: -4},
		"router: want shape [D, E], got (6, 2, 2)":                      {router: []int{6, 2, 2}},
		"want x [tokens, 5]":                                            {router: []int{5, 4}},
		"w1: want [E, D, FF] with E = 4 experts":                        {w1: []int{3, 6, 5}},
		"as the router has, and 6 inputs, got (4, 7, 5)":                {w1: []int{4, 7, 5}},
		"w1: want [E, D, FF]":                                           {w1: []int{24, 5}},
		"w2: want [E, FF, D] with E = 4 experts, as the router has, an": {w2: []int{4, 6, 6}},
		"bias of w1: want shape (4, 5), got (5)":                        {b1: []int{5}, b2: []int{4, 6}},
		"bias of w2: want shape (4, 6), got (4, 5)":                     {b1: []int{4, 5}, b2: []int{4, 5}},
		"input 4: want a node, got nil":                                 {b1: []int{4, 5}},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		input := func(name string, shape, otherwise []int) *gorgonia.Node {
			if shape == nil {
				shape = otherwise
			}
			if shape == nil {
				return nil
			}
			return b.Input(name, tensor.Float32, shape...)
		}
		o := moe.Options{TopK: c.topK, B1: input("b1", c.b1, nil), B2: input("b2", c.b2, nil)}
		switch c.topK {
		case 0:
			o.TopK = 2
		case -4:
			o.TopK = 0
		}
		u, router := input("u", c.u, []int{5, 6}), input("router", c.router, []int{6, 4})
		m := moe.Mixture(b, u, router, input("w1", c.w1, []int{4, 6, 5}), input("w2", c.w2, []int{4, 5, 6}), o)
		require.Nil(t, m.Y, want)
		optest.RequireLine(t, b.Err(), "graph: ", want)
		require.Nil(t, m.Balance())
		require.Nil(t, m.RouterZ())
		require.Nil(t, m.Counts())
	}
}

package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
)

const (
	profileTokens, profileSeq = 12, 6
	profileVocab              = 11
	profileHeads              = 2
)

// profiled is a program with every kind of op that multiplies matrices.
func profiled(t *testing.T, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	o.Threads, o.Seed, o.Gradients = 1, 1, true
	p, err := graph.Compile(o, profiledGraph)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	for i, ids := 0, p.Ints("tokens"); i < len(ids); i++ {
		ids[i] = int32(i * 7 % profileVocab)
	}
	return p
}

func profiledGraph(b *graph.Builder) (graph.Roots, error) { return manyTokens(b, profileTokens) }

// manyTokens is profiledGraph for another number of tokens.
func manyTokens(b *graph.Builder, count int) (graph.Roots, error) {
	param := func(name string, shape ...int) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.3)})
	}
	tokens := b.Input("tokens", tensor.Int32, count/profileSeq, profileSeq)
	e := embedding.Gather(b, param("table", profileVocab, profileHeads, 4), tokens, 1) // [T, 2, 4]
	x := readwrite.Write(b, nil, param("store", profileHeads, 3), e)                   // [T, 3, 4]
	b.Block(func() {
		qkv := readwrite.NormRead(b, x, param("gain", 3, 4), param("heads", 3, profileHeads, 3), norm.Options{}) // [T, 3, 2, 4]
		o := attention.Causal(b, qkv, attention.Options{Heads: profileHeads, Seq: profileSeq, Scale: 0.5})
		x = readwrite.Write(b, x, param("write", profileHeads, 3), o)
	})
	b.Block(func() {
		u := readwrite.Read(b, x, param("features", profileHeads, 3)) // [T, 2, 4]
		h := elementwise.Gelu(b, linear.Map(b, u, param("w1", 8, 5), linear.Options{}), false)
		_, h = linear.MapActivated(b, h, param("w3", 5, 5), kernel.GeluTanh)
		x = readwrite.Write(b, x, param("back", profileHeads, 3), linear.Map(b, h, param("w2", 8, 5), linear.Options{Transposed: true}))
	})
	y := readwrite.Read(b, x, param("out", profileHeads, 3))
	loss := loss.CrossEntropy(b, y, param("unembedding", 8, profileVocab), tokens, loss.Options{ZLoss: 0.1})
	return graph.Roots{Loss: loss}, b.Err()
}

func TestProfileSumsToTheRuns(t *testing.T) {
	p := profiled(t, graph.ProgramOptions{})
	const runs = 3
	for range runs {
		require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	}
	require.NoError(t, p.Run(graph.RunOptions{}), "a run that is not profiled")
	rows := p.Profile()
	last := rows[len(rows)-1]
	require.Equal(t, graph.TapeMachine, last.OpType)
	assert.Positive(t, last.Seconds)
	assert.Equal(t, p.Stopwatch().Calls(), runs)
	assert.InDelta(t, p.Stopwatch().Total().Seconds(), optest.Totals(rows).Seconds, 1e-9)
	for _, r := range rows {
		assert.Equal(t, runs, r.Calls, r.OpType)
		assert.NotContains(t, r.OpType, "(")
		assert.GreaterOrEqual(t, r.Seconds, 0.0, r.OpType)
	}
}

// TestProfileFLOPs: a loss and its gradients take three times the forward products, and four times
// with recomputation of the blocks; for some Primitives the numbers are computed by hand.
func TestProfileFLOPs(t *testing.T) {
	p := profiled(t, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
	flops := map[string]int{}
	for _, r := range p.Profile() {
		flops[r.OpType] += r.FLOPs
	}
	const key, pairs = 2 * profileTokens * profileHeads * 3 * 4, profileTokens * (profileSeq + 1) / 2 * profileHeads
	for kind, want := range map[string]int{
		"Linear then Gelu":            2 * profileTokens * 5 * 5,
		"GradW of Linear":             2 * profileTokens * (8*5 + 5*5 + 8*5),
		"CausalAttention":             4 * pairs * 4,
		"GradQKV of CausalAttention":  8 * pairs * 4,
		"NormRead LayerNorm":          3 * key,
		"GradX of NormRead LayerNorm": 6 * key,
		"CrossEntropy":                3 * 2 * profileTokens * 8 * profileVocab,
	} {
		assert.Equal(t, want, flops[kind], kind)
	}
	again := profiled(t, graph.ProgramOptions{Recompute: graph.RecomputeBlock})
	require.NoError(t, again.Run(graph.RunOptions{Profile: true}))
	assert.Greater(t, optest.Totals(again.Profile()).FLOPs, 3*again.ForwardFLOPs())
}

func TestProfileBytes(t *testing.T) {
	p := profiled(t, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const x, e = 4 * profileTokens * 3 * 4, 4 * profileTokens * profileHeads * 4
	bytes := map[string]int{}
	for _, r := range p.Profile() {
		bytes[r.OpType] += r.Bytes
	}
	assert.Equal(t, 4*profileTokens+2*e, bytes["Embedding"], "the rows read, not the table")
	assert.Equal(t, 2*(x+4*profileHeads*3+e), bytes["Read"])
	assert.Equal(t, 2*(2*x+4*profileHeads*3+e), bytes["Write"])
	w := 4 * 8 * profileVocab
	assert.Equal(t, 4+2*e+2*w+4*profileTokens, bytes["CrossEntropy"], "features, weights, targets, loss and both gradients")
	assert.Zero(t, bytes["GradW of CrossEntropy"], "its primary has written it")
}

// TestProfileCostsNothing: timing allocates nothing, whether it is off or on.
func TestProfileCostsNothing(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1})
	x := b.Input("x", tensor.Float32, 2, 3)
	op := graph.OpOf(elementwise.Scale(b, x, 2))
	value := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3))
	inputs := []gorgonia.Value{value}
	for _, on := range []bool{false, true} {
		b.SetProfile(on)
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := op.Do(inputs...); err != nil {
				t.Error(err)
			}
		})
		assert.Zero(t, allocations, "profile %t", on)
		assert.Equal(t, on, op.Stopwatch().Calls() > 0, "profile %t", on)
	}
}

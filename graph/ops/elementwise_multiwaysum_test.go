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
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

// multiwaySumCases sum few tensors, and more than one launch on a device takes; in the cases named
// "last" nothing reads the packed sums.
func multiwaySumCases() []optest.Case {
	both := func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		packed, last := elementwise.MultiwaySum(b, x[0], x[1:]...)
		return shape.Concat(b, packed, last)
	}
	make := func(name string, ways, k int, x ...int) optest.Case {
		c := optest.Case{Name: fmt.Sprintf("MultiwaySum/%d of %d %v", ways, k, x) + name, Floats: [][]int{{x[0], ways * k}}, Build: both,
			Want: func(v [][]float64, _ [][]int32) []float64 { return wantMultiwaySum(ways, v) }}
		for range k {
			c.Floats = append(c.Floats, x)
		}
		return c
	}
	last := make(" last", 3, 2, 3, 5)
	last.Build = func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		_, y := elementwise.MultiwaySum(b, x[0], x[1:]...)
		return y
	}
	last.Want = func(v [][]float64, _ [][]int32) []float64 {
		all, y := wantMultiwaySum(3, v), []float64(nil)
		for t := range 3 {
			y = append(y, all[(t*3+2)*5:][:5]...)
		}
		return y
	}
	return []optest.Case{make("", 4, 2, 3, 5), make("", 2, 1, 2, 7), make("", 4, 9, 2, 6), make("", 2, 3, 4, 2, 3), last}
}

// wantMultiwaySum returns [T, ways*D]; v has the weights first, then the tensors.
func wantMultiwaySum(ways int, v [][]float64) []float64 {
	k := len(v) - 1
	tokens := len(v[0]) / (ways * k)
	width := len(v[1]) / tokens
	y := make([]float64, tokens*ways*width)
	for i := range y {
		t, way := i/width/ways, i/width%ways
		for j := range k {
			y[i] += v[0][(t*ways+way)*k+j] * v[1+j][t*width+i%width]
		}
	}
	return y
}

// TestMultiwaySumOfOneTensor: with weights of 0 and a single 1, as MUDD connections start, each sum
// has the same bits as that tensor.
func TestMultiwaySumOfOneTensor(t *testing.T) { checkWaysOfOneTensor(t, graph.Options{Threads: 2}, 3) }

func checkWaysOfOneTensor(t *testing.T, o graph.Options, k int) {
	t.Helper()
	const tokens, width, ways = 3, 5, 4
	p, err := graph.Compile(graph.ProgramOptions{Options: o}, func(b *graph.Builder) (graph.Roots, error) {
		weights := b.Input("weights", tensor.Float32, tokens, ways*k)
		var x gorgonia.Nodes
		for j := range k {
			x = append(x, b.Input(fmt.Sprintf("x%d", j), tensor.Float32, tokens, width))
		}
		packed, last := elementwise.MultiwaySum(b, weights, x...)
		return graph.Roots{Outputs: gorgonia.Nodes{packed, last}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	for j := range k {
		for i := range p.Input(fmt.Sprintf("x%d", j)).Float32s() {
			p.Input(fmt.Sprintf("x%d", j)).Float32s()[i] = float32((i+j)%4) / 4
		}
	}
	for i := range p.Input("weights").Float32s() {
		if i%k == k-1 {
			p.Input("weights").Float32s()[i] = 1
		}
	}
	require.NoError(t, p.Run(graph.RunOptions{}))
	newest := p.Input(fmt.Sprintf("x%d", k-1)).Float32s()
	for i, rows := range []int{ways - 1, 1} {
		got, err := graph.Value(p.Roots().Outputs[i])
		require.NoError(t, err)
		for token := range tokens {
			for row := range rows {
				require.Equal(t, newest[token*width:][:width], got.Float32s()[(token*rows+row)*width:][:width])
			}
		}
	}
}

// multiwayProgram is a program of blocks that read two sums of the outputs of earlier blocks; the
// gradients of the sums meet in each tensor.
func multiwayProgram(t *testing.T, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	const tokens, d, blocks = 6, 5, 3
	o.Options, o.Gradients = graph.Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5)})
		}
		x := gorgonia.Nodes{b.Add(param("x", tokens, d))} // [T, d]
		y := x[0]
		for i := range blocks {
			b.Block(func() {
				a := linear.Map(b, y, param(fmt.Sprintf("a%d", i), d, 3*len(x)), linear.Options{})
				packed, last := elementwise.MultiwaySum(b, a, x...) // [T, 2, d], [T, d]
				f := linear.Map(b, packed, param(fmt.Sprintf("w%d", i), 2*d, d), linear.Options{})
				y = b.Add(last, elementwise.Gelu(b, f, false))
				x = append(x, y)
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return graph.Roots{Loss: loss.CrossEntropy(b, y, param("out", d, 7), targets, loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestMultiwayProgram checks that shared buffers, separate ones and recomputation give the same
// gradients.
func TestMultiwayProgram(t *testing.T) {
	optest.SameInAnyMemory(t, func(o graph.ProgramOptions) *graph.Program { return multiwayProgram(t, o) })
}

// TestMultiwaySumFLOPs checks the FLOPs of the forward pass against a count by hand, and that a
// loss and its gradients take three times as many.
func TestMultiwaySumFLOPs(t *testing.T) {
	p := multiwayProgram(t, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const tokens, d = 6, 5
	assert.Equal(t, 2*tokens*d*3*(1+2+3)*2+3*2*tokens*2*d*d+2*tokens*d*7, p.ForwardFLOPs())
	assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
}

// TestMultiwaySumShapes checks that the op refuses wrong shapes.
func TestMultiwaySumShapes(t *testing.T) {
	for want, shapes := range map[string][][]int{
		"want at least one tensor, got none":                                                          {{3, 2}},
		"tensor 0: want shape [tokens, ...] as tensor 0, (3), got (3)":                                {{1, 2}, {3}},
		"tensor 1: want shape [tokens, ...] as tensor 0, (3, 5), got (5, 3)":                          {{3, 4}, {3, 5}, {5, 3}},
		"weights: want shape (3, sums * 2), two sums at least, for 2 tensors of 3 tokens, got (3, 2)": {{3, 2}, {3, 5}, {3, 5}},
		"weights: want shape (3, sums * 2), two sums at least, for 2 tensors of 3 tokens, got (3, 5)": {{3, 5}, {3, 5}, {3, 5}},
		"weights: want shape (3, sums * 2), two sums at least, for 2 tensors of 3 tokens, got (2, 4)": {{2, 4}, {3, 5}, {3, 5}},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		var in gorgonia.Nodes
		for i, s := range shapes {
			in = append(in, b.Input(fmt.Sprintf("f%d", i), tensor.Float32, s...))
		}
		packed, last := elementwise.MultiwaySum(b, in[0], in[1:]...)
		require.Nil(t, packed, want)
		require.Nil(t, last, want)
		optest.RequireLine(t, b.Err(), want)
	}
}

package ops_test

import (
	"fmt"
	"math"
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

// weightedSumCases are sums with weights for all tokens and for each, of as many tensors as one
// launch on a device takes and of more; in the cases named "dense" the gradients of several sums
// meet in one tensor.
func weightedSumCases() []optest.Case {
	build := func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return elementwise.WeightedSum(b, x[0], x[1:]...)
	}
	make := func(name string, k int, weights []int, x ...int) optest.Case {
		c := optest.Case{Name: fmt.Sprintf("WeightedSum/%s %d of %v", name, k, x), Floats: [][]int{weights}, Build: build, Want: wantWeightedSums}
		for range k {
			c.Floats = append(c.Floats, x)
		}
		return c
	}
	return []optest.Case{
		make("shared", 1, []int{1}, 1, 1), make("shared", 2, []int{2}, 3, 5), make("a row of weights", 3, []int{1, 3}, 2, 3, 5),
		make("shared", 8, []int{8}, 3, 7), make("shared", 19, []int{19}, 2, 12), make("each", 1, []int{3, 1}, 3, 5),
		make("each", 3, []int{5, 3}, 5, 4), make("each", 9, []int{2, 9}, 2, 3, 7),
		{Name: "WeightedSum/one tensor twice", Floats: [][]int{{3, 5}, {3, 5}, {3}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.WeightedSum(b, x[2], x[0], x[1], x[0])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return wantWeightedSum(v[2], false, v[0], v[1], v[0])
			}},
		{Name: "WeightedSum/slices of weights", Floats: [][]int{{1, 4}, {3, 5}, {3, 5}, {3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				y := elementwise.WeightedSum(b, shape.Slice(b, x[0], 0, 2), x[1], x[2])
				return elementwise.WeightedSum(b, shape.Slice(b, x[0], 2, 4), y, x[3])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				y := wantWeightedSum(v[0][:2], false, v[1], v[2])
				return wantWeightedSum(v[0][2:], false, y, v[3])
			}},
		{Name: "WeightedSum/dense", Floats: [][]int{{3, 5}, {2}, {3, 3}, {4}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				x1 := elementwise.Gelu(b, x[0], false)
				x2 := elementwise.Gelu(b, elementwise.WeightedSum(b, x[1], x[0], x1), false)
				x3 := elementwise.Gelu(b, elementwise.WeightedSum(b, x[2], x[0], x1, x2), false)
				return elementwise.WeightedSum(b, x[3], x[0], x1, x2, x3)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				x1 := optest.WantGelu(v[0], false)
				x2 := optest.WantGelu(wantWeightedSum(v[1], false, v[0], x1), false)
				x3 := optest.WantGelu(wantWeightedSum(v[2], true, v[0], x1, x2), false)
				return wantWeightedSum(v[3], false, v[0], x1, x2, x3)
			}},
	}
}

// wantWeightedSums takes the weights first: one for each tensor, or one for each token and tensor.
func wantWeightedSums(v [][]float64, _ [][]int32) []float64 {
	return wantWeightedSum(v[0], len(v[0]) > len(v)-1, v[1:]...)
}

func wantWeightedSum(weights []float64, each bool, x ...[]float64) []float64 {
	y := make([]float64, len(x[0]))
	tokens := len(weights) / len(x)
	for i := range y {
		for j := range x {
			e := j
			if each {
				e += i / (len(y) / tokens) * len(x)
			}
			y[i] += weights[e] * x[j][i]
		}
	}
	return y
}

// TestWeightedSumOfOneTensor: with weights of 0 and a single 1, as DenseFormer starts, the sum has
// the same bits as that tensor, whether or not it is computed in place.
func TestWeightedSumOfOneTensor(t *testing.T) { checkSumOfOneTensor(t, graph.Options{Threads: 2}, 10) }

func checkSumOfOneTensor(t *testing.T, o graph.Options, k int) {
	t.Helper()
	const tokens, width = 3, 5
	for _, sets := range []int{1, tokens} {
		p, err := graph.Compile(graph.ProgramOptions{Options: o}, func(b *graph.Builder) (graph.Roots, error) {
			weights := b.Input("weights", tensor.Float32, sets, k)
			var x gorgonia.Nodes
			for j := range k {
				x = append(x, elementwise.Scale(b, b.Input(fmt.Sprintf("x%d", j), tensor.Float32, tokens, width), 1))
			}
			return graph.Roots{Outputs: append(gorgonia.Nodes{elementwise.WeightedSum(b, weights, x...)}, x[k-1])}, b.Err()
		})
		require.NoError(t, err)
		defer p.Close()
		for j := range k {
			x := p.Input(fmt.Sprintf("x%d", j)).Float32s()
			for i := range x {
				x[i] = float32(math.Copysign(float64((i+j)%4)/4, float64(i%2)-0.5)) // some are -0
			}
		}
		weights := p.Input("weights").Float32s()
		for set := range sets {
			weights[set*k+k-1] = 1
		}
		require.NoError(t, p.Run(graph.RunOptions{}))
		got, err := graph.Value(p.Roots().Outputs[0])
		require.NoError(t, err)
		for i, want := range p.Input(fmt.Sprintf("x%d", k-1)).Float32s() {
			require.Equal(t, math.Float32bits(want), math.Float32bits(got.Float32s()[i]), "%d sets of weights, entry %d", sets, i)
		}
	}
}

// weightedSumProgram is a program of blocks that each read a weighted sum of the outputs of the
// others before.
func weightedSumProgram(t *testing.T, each bool, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	const tokens, d, blocks = 6, 5, 4
	o.Options, o.Gradients = graph.Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5)})
		}
		y := b.Add(param("x", tokens, d)) // [T, d]
		x := gorgonia.Nodes{y}
		for i := range blocks {
			b.Block(func() {
				f := elementwise.Gelu(b, linear.Map(b, y, param(fmt.Sprintf("w%d", i), d, d), linear.Options{}), false)
				x = append(x, b.Add(y, elementwise.Hadamard(b, f, param(fmt.Sprintf("g%d", i), d))))
				a := param(fmt.Sprintf("a%d", i), len(x))
				if each {
					a = linear.Bias(b, linear.Map(b, f, param(fmt.Sprintf("v%d", i), d, len(x)), linear.Options{}), a) // [T, k]
				}
				y = elementwise.WeightedSum(b, a, x...)
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return graph.Roots{Loss: loss.CrossEntropy(b, y, param("out", d, 7), targets, loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestWeightedSumProgram checks that shared buffers, separate ones and recomputation give the same
// gradients.
func TestWeightedSumProgram(t *testing.T) {
	for _, each := range []bool{false, true} {
		optest.SameInAnyMemory(t, func(o graph.ProgramOptions) *graph.Program { return weightedSumProgram(t, each, o) })
	}
}

// TestWeightedSumFLOPs checks the FLOPs of the forward pass against a count by hand, and that a
// loss and its gradients take three times as many.
func TestWeightedSumFLOPs(t *testing.T) {
	p := weightedSumProgram(t, false, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const tokens, d = 6, 5
	assert.Equal(t, 2*tokens*d*(2+3+4+5)+4*2*tokens*d*d+2*tokens*d*7, p.ForwardFLOPs())
	assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
}

// TestWeightedSumShapes checks that the op refuses wrong shapes.
func TestWeightedSumShapes(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	names := 0
	f := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
	}
	for want, build := range map[string]func() *gorgonia.Node{
		"want at least one tensor, got none":                  func() *gorgonia.Node { return elementwise.WeightedSum(b, f(3)) },
		"tensor 0: want shape [tokens, ...], got (3)":         func() *gorgonia.Node { return elementwise.WeightedSum(b, f(1), f(3)) },
		"tensor 1: want shape (3, 5) as tensor 0, got (5, 3)": func() *gorgonia.Node { return elementwise.WeightedSum(b, f(2), f(3, 5), f(5, 3)) },
		"weights: want shape (2), (1, 2) or (3, 2) for 2 tensors of 3 tokens, got (3)": func() *gorgonia.Node {
			return elementwise.WeightedSum(b, f(3), f(3, 5), f(3, 5))
		},
		"weights: want shape (2), (1, 2) or (3, 2) for 2 tensors of 3 tokens, got (2, 3)": func() *gorgonia.Node {
			return elementwise.WeightedSum(b, f(2, 3), f(3, 5), f(3, 5))
		},
	} {
		b = graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, build(), want)
		optest.RequireLine(t, b.Err(), want)
	}
}

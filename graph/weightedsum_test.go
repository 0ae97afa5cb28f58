package graph

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// weightedSumCases are sums with weights for all tokens and for each, of as many tensors as
// one launch on a device takes and of more; "dense" is where the gradients of several sums
// meet in one tensor.
func weightedSumCases() []opCase {
	build := func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.WeightedSum(x[0], x[1:]...) }
	make := func(name string, k int, weights []int, x ...int) opCase {
		c := opCase{name: fmt.Sprintf("WeightedSum/%s %d of %v", name, k, x), floats: [][]int{weights}, build: build, want: wantWeightedSums}
		for range k {
			c.floats = append(c.floats, x)
		}
		return c
	}
	return []opCase{
		make("shared", 1, []int{1}, 1, 1), make("shared", 2, []int{2}, 3, 5), make("a row of weights", 3, []int{1, 3}, 2, 3, 5),
		make("shared", 8, []int{8}, 3, 7), make("shared", 19, []int{19}, 2, 12), make("each", 1, []int{3, 1}, 3, 5),
		make("each", 3, []int{5, 3}, 5, 4), make("each", 9, []int{2, 9}, 2, 3, 7),
		{name: "WeightedSum/one tensor twice", floats: [][]int{{3, 5}, {3, 5}, {3}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.WeightedSum(x[2], x[0], x[1], x[0]) },
			want: func(v [][]float64, _ [][]int32) []float64 {
				return wantWeightedSum(v[2], false, v[0], v[1], v[0])
			}},
		{name: "WeightedSum/slices of weights", floats: [][]int{{1, 4}, {3, 5}, {3, 5}, {3, 5}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				y := b.WeightedSum(b.Slice(x[0], 0, 2), x[1], x[2])
				return b.WeightedSum(b.Slice(x[0], 2, 4), y, x[3])
			},
			want: func(v [][]float64, _ [][]int32) []float64 {
				y := wantWeightedSum(v[0][:2], false, v[1], v[2])
				return wantWeightedSum(v[0][2:], false, y, v[3])
			}},
		{name: "WeightedSum/dense", floats: [][]int{{3, 5}, {2}, {3, 3}, {4}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				x1 := b.Gelu(x[0], false)
				x2 := b.Gelu(b.WeightedSum(x[1], x[0], x1), false)
				x3 := b.Gelu(b.WeightedSum(x[2], x[0], x1, x2), false)
				return b.WeightedSum(x[3], x[0], x1, x2, x3)
			},
			want: func(v [][]float64, _ [][]int32) []float64 {
				x1 := wantGelu(v[0], false)
				x2 := wantGelu(wantWeightedSum(v[1], false, v[0], x1), false)
				x3 := wantGelu(wantWeightedSum(v[2], true, v[0], x1, x2), false)
				return wantWeightedSum(v[3], false, v[0], x1, x2, x3)
			}},
	}
}

// wantWeightedSums takes the weights first; those of each token are as many as the tokens times
// the tensors.
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

// TestWeightedSumOfOneTensor: with weights of 0 and a single 1, as DenseFormer starts, the sum
// has the bits of that tensor, in place and not.
func TestWeightedSumOfOneTensor(t *testing.T) { checkSumOfOneTensor(t, Options{Threads: 2}, 10) }

func checkSumOfOneTensor(t *testing.T, o Options, k int) {
	t.Helper()
	const tokens, width = 3, 5
	for _, sets := range []int{1, tokens} {
		p, err := Compile(ProgramOptions{Options: o}, func(b *Builder) (Roots, error) {
			weights := b.Input("weights", tensor.Float32, sets, k)
			var x gorgonia.Nodes
			for j := range k {
				x = append(x, b.Scale(b.Input(fmt.Sprintf("x%d", j), tensor.Float32, tokens, width), 1))
			}
			return Roots{Outputs: append(gorgonia.Nodes{b.WeightedSum(weights, x...)}, x[k-1])}, b.Err()
		})
		require.NoError(t, err)
		defer p.Close()
		for j := range k {
			x := p.Input(fmt.Sprintf("x%d", j)).Float32s()
			for i := range x {
				x[i] = float32(math.Copysign(float64((i+j)%4)/4, float64(i%2)-0.5)) // of which some are -0
			}
		}
		weights := p.Input("weights").Float32s()
		for set := range sets {
			weights[set*k+k-1] = 1
		}
		require.NoError(t, p.Run(RunOptions{}))
		got, err := Value(p.Roots().Outputs[0])
		require.NoError(t, err)
		for i, want := range p.Input(fmt.Sprintf("x%d", k-1)).Float32s() {
			require.Equal(t, math.Float32bits(want), math.Float32bits(got.Float32s()[i]), "%d sets of weights, entry %d", sets, i)
		}
	}
}

// denseProgram is a program of blocks that each read a weighted sum of what the others left.
func denseProgram(t *testing.T, each bool, o ProgramOptions) *Program {
	t.Helper()
	const tokens, d, blocks = 6, 5, 4
	o.Options, o.Gradients = Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := Compile(o, func(b *Builder) (Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(ParamSpec{Name: name, Shape: shape, Init: Normal(0.5)})
		}
		y := b.Add(param("x", tokens, d)) // [T, d]
		x := gorgonia.Nodes{y}
		for i := range blocks {
			b.Block(func() {
				f := b.Gelu(b.Linear(y, param(fmt.Sprintf("w%d", i), d, d), LinearOptions{}), false)
				x = append(x, b.Add(y, b.Hadamard(f, param(fmt.Sprintf("g%d", i), d))))
				a := param(fmt.Sprintf("a%d", i), len(x))
				if each {
					a = b.Bias(b.Linear(f, param(fmt.Sprintf("v%d", i), d, len(x)), LinearOptions{}), a) // [T, k]
				}
				y = b.WeightedSum(a, x...)
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return Roots{Loss: b.CrossEntropy(y, param("out", d, 7), targets, LossOptions{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestDenseProgram: shared buffers, separate ones and recomputation give the same gradients.
func TestDenseProgram(t *testing.T) {
	for _, each := range []bool{false, true} {
		var want [][]float64
		for _, o := range []ProgramOptions{{Separate: true}, {}, {Recompute: RecomputeBlock}} {
			p := denseProgram(t, each, o)
			var got [][]float64
			for range 2 {
				got = nil
				require.NoError(t, p.Run(RunOptions{}))
				for _, param := range p.Store().Params() {
					got = append(got, append([]float64(nil), Float64s(param.Grad)...))
				}
			}
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "each=%t %+v", each, o)
			require.NoError(t, p.Run(RunOptions{Accumulate: true}))
			for i, param := range p.Store().Params() {
				require.InDeltaSlice(t, wantScale(want[i], 2), Float64s(param.Grad), 1e-12, param.Name)
			}
		}
	}
}

// TestWeightedSumFLOPs: forward products by hand; a loss and its gradients take three times them.
func TestWeightedSumFLOPs(t *testing.T) {
	p := denseProgram(t, false, ProgramOptions{})
	require.NoError(t, p.Run(RunOptions{Profile: true}))
	const tokens, d = 6, 5
	assert.Equal(t, 2*tokens*d*(2+3+4+5)+4*2*tokens*d*d+2*tokens*d*7, p.ForwardFLOPs())
	assert.Equal(t, 3*p.ForwardFLOPs(), totals(p.Profile()).FLOPs)
}

// TestWeightedSumShapes lists the shapes that the op refuses.
func TestWeightedSumShapes(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{})
	names := 0
	f := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
	}
	for want, build := range map[string]func() *gorgonia.Node{
		"want at least one tensor, got none":                  func() *gorgonia.Node { return b.WeightedSum(f(3)) },
		"tensor 0: want shape [tokens, ...], got (3)":         func() *gorgonia.Node { return b.WeightedSum(f(1), f(3)) },
		"tensor 1: want shape (3, 5) as tensor 0, got (5, 3)": func() *gorgonia.Node { return b.WeightedSum(f(2), f(3, 5), f(5, 3)) },
		"weights: want shape (2), (1, 2) or (3, 2) for 2 tensors of 3 tokens, got (3)": func() *gorgonia.Node {
			return b.WeightedSum(f(3), f(3, 5), f(3, 5))
		},
		"weights: want shape (2), (1, 2) or (3, 2) for 2 tensors of 3 tokens, got (2, 3)": func() *gorgonia.Node {
			return b.WeightedSum(f(2, 3), f(3, 5), f(3, 5))
		},
	} {
		b.err = nil
		require.Nil(t, build(), want)
		requireLine(t, b.Err(), want)
	}
}

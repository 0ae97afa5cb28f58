package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

// mixCases are the ops on streams of several rows, with coefficients for all tokens and for each;
// the case "step" is a whole sublayer's mixing, where gradients meet.
func mixCases() []optest.Case {
	var cases []optest.Case
	for _, s := range []mixShape{{3, 4, 1, 5}, {2, 3, 2, 7}, {1, 1, 1, 1}, {2, 9, 2, 3},
		{19, 2, 1, 4}, {2, 8, 2, 4}, {1, 6, 1, 8}, {2, 5, 3, 4}, {1, 2, 1, 132}} {
		for _, shared := range []bool{false, true} {
			cases = append(cases, s.cases(shared)...)
		}
	}
	return cases
}

// mixShape is the shape of a stream [tokens, n, d] and the number of rows m that a sublayer reads
// and writes.
type mixShape struct{ tokens, n, m, d int }

func (s mixShape) cases(shared bool) []optest.Case {
	h, y, c := []int{s.tokens, s.n, s.d}, []int{s.tokens, s.m * s.d}, []int{s.tokens, s.n, 2*s.m + s.n}
	if shared {
		c = c[1:]
	}
	name := fmt.Sprintf("%v shared=%t", s, shared)
	return []optest.Case{
		{Name: "MixRead/" + name, Floats: [][]int{h, c},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return mix.Read(b, x[0], x[1], s.m) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return s.wantRead(x[0], x[1], shared) }},
		{Name: "MixWrite/" + name, Floats: [][]int{h, {s.tokens, s.m, s.d}, c},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return mix.Write(b, x[0], x[1], x[2], s.m) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return s.wantWrite(x[0], x[1], x[2], shared) }},
		{Name: "Mix/step " + name, Floats: [][]int{h, y, c},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				u := mix.Read(b, x[0], x[2], s.m)
				return mix.Write(b, x[0], b.Add(elementwise.Gelu(b, u, false), x[1]), x[2], s.m)
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				u := s.wantRead(x[0], x[2], shared)
				return s.wantWrite(x[0], optest.WantAdd([][]float64{optest.WantGelu(u, false), x[1]}, nil), x[2], shared)
			}},
		{Name: "MixWrite/alone " + name, Floats: [][]int{h, y, append(slices.Clone(c[:len(c)-1]), s.m)},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return mix.Write(b, x[0], x[1], x[2], s.m) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return s.wantWriteAlone(x[0], x[1], x[2], shared) }},
	}
}

// wantWriteAlone computes a write by coefficients [n, m] or [tokens, n, m] that only write.
func (s mixShape) wantWriteAlone(h, y, c []float64, shared bool) []float64 {
	out := slices.Clone(h)
	for t := range s.tokens {
		own := c
		if !shared {
			own = c[t*s.n*s.m:]
		}
		for k := range s.n {
			for j := range s.m {
				for v := range s.d {
					out[(t*s.n+k)*s.d+v] += own[k*s.m+j] * y[(t*s.m+j)*s.d+v]
				}
			}
		}
	}
	return out
}

// c returns the index of coefficient j of row i.
func (s mixShape) c(t, i, j int, shared bool) int {
	if shared {
		t = 0
	}
	return (t*s.n+i)*(2*s.m+s.n) + j
}

func (s mixShape) wantRead(h, c []float64, shared bool) []float64 {
	u := make([]float64, s.tokens*s.m*s.d)
	for t := range s.tokens {
		for j := range s.m {
			for i := range s.n {
				for v := range s.d {
					u[(t*s.m+j)*s.d+v] += c[s.c(t, i, j, shared)] * h[(t*s.n+i)*s.d+v]
				}
			}
		}
	}
	return u
}

func (s mixShape) wantWrite(h, y, c []float64, shared bool) []float64 {
	out := make([]float64, len(h))
	for t := range s.tokens {
		for k := range s.n {
			for v := range s.d {
				for i := range s.n {
					out[(t*s.n+k)*s.d+v] += c[s.c(t, i, s.m+k, shared)] * h[(t*s.n+i)*s.d+v]
				}
				for j := range s.m {
					out[(t*s.n+k)*s.d+v] += c[s.c(t, k, s.m+s.n+j, shared)] * y[(t*s.m+j)*s.d+v]
				}
			}
		}
	}
	return out
}

// TestMixShapes checks that the ops refuse wrong shapes.
func TestMixShapes(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	names := 0
	f := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
	}
	for want, build := range map[string]func() *gorgonia.Node{
		"n: want at least 1, got 0":                       func() *gorgonia.Node { return shape.Copies(b, f(3, 5), 0) },
		"x: want shape [tokens, ...], got (3)":            func() *gorgonia.Node { return shape.Copies(b, f(3), 2) },
		"stream: want shape [tokens, n, ...], got (3, 5)": func() *gorgonia.Node { return shape.SumCopies(b, f(3, 5)) },
		"m: want at least 1, got 0":                       func() *gorgonia.Node { return mix.Read(b, f(3, 4, 5), f(4, 4), 0) },
		"stream: want shape [tokens, n, d], got (3, 4)":   func() *gorgonia.Node { return mix.Read(b, f(3, 4), f(4, 6), 1) },
		"coefficients: want shape (4, 6) or (3, 4, 6) for a stream (3, 4, 5) and m = 1, got (4, 5)": func() *gorgonia.Node {
			return mix.Read(b, f(3, 4, 5), f(4, 5), 1)
		},
		"coefficients: want shape (4, 8) or (3, 4, 8) for a stream (3, 4, 5) and m = 2, got (2, 4, 8)": func() *gorgonia.Node {
			return mix.Write(b, f(3, 4, 5), f(3, 10), f(2, 4, 8), 2)
		},
		"y: want 3 tokens of 10 entries for a stream (3, 4, 5) and m = 2, got (3, 5)": func() *gorgonia.Node {
			return mix.Write(b, f(3, 4, 5), f(3, 5), f(4, 8), 2)
		},
	} {
		b = graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, build(), want)
		optest.RequireLine(t, b.Err(), want)
	}
}

// mixProgram is a program of sublayers on a stream of four rows.
func mixProgram(t *testing.T, shared bool, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	const tokens, n, m, d = 6, 4, 1, 5
	o.Options, o.Gradients = graph.Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5)})
		}
		h := shape.Copies(b, b.Add(param("x", tokens, d)), n) // [T, n, d]
		for i := range 3 {
			b.Block(func() {
				c := param(fmt.Sprintf("c%d", i), n, 2*m+n)
				if !shared { // one for each token, computed from the stream
					each := linear.Map(b, h, param(fmt.Sprintf("w%d", i), n*d, n*(2*m+n)), linear.Options{})
					var s optest.StockGraph
					c = b.Add(s.Node(gorgonia.Reshape(linear.Bias(b, each, s.Node(gorgonia.Reshape(c, tensor.Shape{n * (2*m + n)}))), tensor.Shape{tokens, n, 2*m + n})))
					b.Fail(s.Err)
				}
				y := linear.Map(b, mix.Read(b, h, c, m), param(fmt.Sprintf("f%d", i), m*d, m*d), linear.Options{})
				h = mix.Write(b, h, y, c, m)
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return graph.Roots{Loss: loss.CrossEntropy(b, shape.SumCopies(b, h), param("out", d, 7), targets, loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestMixProgram checks that shared buffers, separate ones and recomputation give the same
// gradients.
func TestMixProgram(t *testing.T) {
	for _, shared := range []bool{true, false} {
		optest.SameInAnyMemory(t, func(o graph.ProgramOptions) *graph.Program { return mixProgram(t, shared, o) })
	}
}

// TestMixFLOPs checks the FLOPs of the forward pass against a count by hand, and that a loss and
// its gradients take three times as many.
func TestMixFLOPs(t *testing.T) {
	p := mixProgram(t, true, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const tokens, n, m, d = 6, 4, 1, 5
	mixes := 3 * (2*tokens*m*n*d + 2*tokens*n*(n+m)*d)
	assert.Equal(t, mixes+3*2*tokens*d*d+2*tokens*d*7, p.ForwardFLOPs())
	assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
}

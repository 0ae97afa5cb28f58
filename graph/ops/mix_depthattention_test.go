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
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/optest"
)

// depthCases are attention over one source and over many, the weights by themselves and with a sum
// computed from them, a source that occurs twice, and reads whose gradients meet in their sources.
func depthCases() []optest.Case {
	const eps = depthEps
	// Short queries give weights that are not near 0.
	short := func(b *graph.Builder, query *gorgonia.Node) *gorgonia.Node { return elementwise.Scale(b, query, 0.3) }
	// The mean of many sources is scaled up, so that it depends enough on each.
	attend := func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return elementwise.Scale(b, mix.DepthAttention(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2:]...), float64(len(x)))
	}
	whole := func(v [][]float64) []float64 {
		return optest.WantScale(wantDepth(optest.WantScale(v[0], 0.3), v[1], eps, v[2:]...), float64(len(v)))
	}
	return []optest.Case{
		depthCase("DepthAttention", 2, 1, 3, attend, whole), depthCase("DepthAttention", 3, 7, 6, attend, whole),
		depthCase("DepthAttention", 9, 2, 20, attend, whole), depthCase("DepthAttention", 18, 1, 20, attend, whole),
		depthCase("DepthWeights", 3, 5, 4, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return mix.DepthWeights(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2:]...)
		}, func(v [][]float64) []float64 {
			return wantDepthWeights(optest.WantScale(v[0], 0.3), v[1], eps, v[2:]...)
		}),
		depthCase("DepthWeights and sum", 10, 1, 20, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			y := elementwise.WeightedSum(b, mix.DepthWeights(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2:]...), x[2:]...)
			return elementwise.Scale(b, y, float64(len(x)))
		}, whole),
		depthCase("DepthAttention/a source twice", 2, 3, 5, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return mix.DepthAttention(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2], x[3], x[2])
		}, func(v [][]float64) []float64 {
			return wantDepth(optest.WantScale(v[0], 0.3), v[1], eps, v[2], v[3], v[2])
		}),
		depthCase("DepthAttention/dense", 2, 3, 5, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			u := elementwise.Gelu(b, mix.DepthAttention(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2], x[3]), false)
			w := elementwise.Gelu(b, mix.DepthAttention(b, short(b, x[1]), x[0], mix.DepthOptions{Eps: eps}, x[2], x[3], u), false)
			return b.Add(mix.DepthAttention(b, short(b, x[0]), x[1], mix.DepthOptions{Eps: eps}, x[2], x[3], u, w), w)
		}, func(v [][]float64) []float64 {
			u := optest.WantGelu(wantDepth(optest.WantScale(v[0], 0.3), v[1], eps, v[2], v[3]), false)
			w := optest.WantGelu(wantDepth(optest.WantScale(v[1], 0.3), v[0], eps, v[2], v[3], u), false)
			y := wantDepth(optest.WantScale(v[0], 0.3), v[1], eps, v[2], v[3], u, w)
			for i := range y {
				y[i] += w[i]
			}
			return y
		}),
	}
}

// depthEps is the eps of the cases.
const depthEps = 0.1

// depthCase returns a case of k sources [tokens, width].
func depthCase(name string, k, tokens, width int, build func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node, want func([][]float64) []float64) optest.Case {
	c := optest.Case{Name: fmt.Sprintf("%s/%d of %d x %d", name, k, tokens, width), Floats: [][]int{{width}, {width}}, Build: build,
		Want: func(v [][]float64, _ [][]int32) []float64 { return want(v) }}
	for range k {
		c.Floats = append(c.Floats, []int{tokens, width})
	}
	return c
}

// depthHeadCases are attention over depth and its weights with several heads, each of which reads
// its own part of the width, by a norm of the whole width. On a device a warp takes heads of these
// widths several at a time or one at a time, in one go or several, and some are not aligned.
func depthHeadCases() (cases []optest.Case) {
	for _, c := range []struct{ heads, columns, sources, tokens int }{{3, 2, 3, 5}, {3, 5, 2, 9}, {2, 4, 9, 2}, {5, 16, 2, 2}, {40, 1, 2, 3}, {2, 132, 2, 1}} {
		o, name := mix.DepthOptions{Eps: depthEps, Heads: c.heads}, fmt.Sprintf("/%d heads", c.heads)
		factor := 1 / math.Sqrt(float64(c.columns)) // of the queries, so that weights are not near 0
		short := func(b *graph.Builder, query *gorgonia.Node) *gorgonia.Node {
			return elementwise.Scale(b, query, factor)
		}
		width := c.heads * c.columns
		cases = append(cases,
			depthCase("DepthAttention"+name, c.sources, c.tokens, width, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.Scale(b, mix.DepthAttention(b, short(b, x[0]), x[1], o, x[2:]...), float64(c.sources))
			}, func(v [][]float64) []float64 {
				return optest.WantScale(wantDepthHeadSums(c.heads, optest.WantScale(v[0], factor), v[1], v[2:]...), float64(c.sources))
			}),
			depthCase("DepthWeights"+name, c.sources, c.tokens, width, func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return mix.DepthWeights(b, short(b, x[0]), x[1], o, x[2:]...)
			}, func(v [][]float64) []float64 {
				return wantDepthHeads(c.heads, optest.WantScale(v[0], factor), v[1], depthEps, v[2:]...)
			}))
	}
	return cases
}

// wantDepthHeadSums returns the sources' sums by the weights of several heads.
func wantDepthHeadSums(heads int, query, gain []float64, sources ...[]float64) []float64 {
	a, u := wantDepthHeads(heads, query, gain, depthEps, sources...), make([]float64, len(sources[0]))
	width := len(query)
	for i, v := range sources {
		for j := range u {
			u[j] += a[(j/width*heads+j%width/(width/heads))*len(sources)+i] * v[j]
		}
	}
	return u
}

// wantDepthHeads returns the weights of several heads: those of one head whose query is 0
// elsewhere.
func wantDepthHeads(heads int, query, gain []float64, eps float64, sources ...[]float64) []float64 {
	n, tokens := len(sources), len(sources[0])/len(query)
	a := make([]float64, tokens*heads*n)
	for head := range heads {
		own := make([]float64, len(query))
		for j := head * len(query) / heads; j < (head+1)*len(query)/heads; j++ {
			own[j] = query[j]
		}
		for i, w := range wantDepthWeights(own, gain, eps, sources...) {
			a[(i/n*heads+head)*n+i%n] = w
		}
	}
	return a
}

func wantDepth(query, gain []float64, eps float64, sources ...[]float64) []float64 {
	a, u := wantDepthWeights(query, gain, eps, sources...), make([]float64, len(sources[0]))
	for i, v := range sources {
		for j := range u {
			u[j] += a[j/len(query)*len(sources)+i] * v[j]
		}
	}
	return u
}

func wantDepthWeights(query, gain []float64, eps float64, sources ...[]float64) (a []float64) {
	d := len(query)
	for at := 0; at < len(sources[0]); at += d {
		row, sum := make([]float64, len(sources)), 0.0
		for i, v := range sources {
			squares := 0.0
			for _, x := range v[at : at+d] {
				squares += x * x
			}
			score := 0.0
			for j, x := range v[at : at+d] {
				score += query[j] * gain[j] * x / math.Sqrt(squares/float64(d)+eps)
			}
			row[i] = math.Exp(score)
			sum += row[i]
		}
		for _, e := range row {
			a = append(a, e/sum)
		}
	}
	return a
}

// depthProgram is a program of blocks that each read the outputs of all earlier ones.
func depthProgram(t *testing.T, blocks int, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	const tokens, d = 6, 5
	o.Options, o.Gradients = graph.Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5)})
		}
		x := gorgonia.Nodes{embedding.Gather(b, param("x", tokens, d), b.Input("tokens", tensor.Int32, tokens), 1)}
		read := func(i int) *gorgonia.Node {
			return mix.DepthAttention(b, param(fmt.Sprintf("q%d", i), d), param(fmt.Sprintf("g%d", i), d), mix.DepthOptions{Eps: 1e-6}, x...)
		}
		for i := range blocks {
			b.Block(func() {
				x = append(x, elementwise.Gelu(b, linear.Map(b, read(i), param(fmt.Sprintf("w%d", i), d, d), linear.Options{}), false))
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return graph.Roots{Loss: loss.CrossEntropy(b, read(blocks), param("out", d, 7), targets, loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestDepthProgram checks that shared buffers, separate ones and recomputation give the same
// gradients.
func TestDepthProgram(t *testing.T) {
	optest.SameInAnyMemory(t, func(o graph.ProgramOptions) *graph.Program { return depthProgram(t, 4, o) })
}

// TestDepthGradientsInPlace: each read adds to the gradients of its sources in place, so that at
// any time there is one buffer for each source, and those that a sublayer takes.
func TestDepthGradientsInPlace(t *testing.T) {
	const buffer, blocks = 256, 20 // bytes of [6, 5], in whole cache lines
	m := depthProgram(t, blocks, graph.ProgramOptions{}).Memory()
	assert.LessOrEqual(t, m.Arena, m.Activations/240*buffer+(blocks+4)*buffer)
}

// TestDepthAttentionFLOPs: for each source, a score and a term of the sum count 2 D each; a loss
// and its gradients take three times the forward pass.
func TestDepthAttentionFLOPs(t *testing.T) {
	p := depthProgram(t, 4, graph.ProgramOptions{})
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	const tokens, d = 6, 5
	assert.Equal(t, 4*tokens*d*(1+2+3+4+5)+4*2*tokens*d*d+2*tokens*d*7, p.ForwardFLOPs())
	assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
}

// TestDepthAttentionShapes checks the errors of the op.
func TestDepthAttentionShapes(t *testing.T) {
	for want, shapes := range map[string][][]int{
		"want at least one source, got none":                                 {{5}, {5}},
		"source 0: want shape [tokens, D], got (3, 5, 1)":                    {{5}, {5}, {3, 5, 1}},
		"source 1: want shape (3, 5) as source 0, got (5, 3)":                {{5}, {5}, {3, 5}, {5, 3}},
		"query and gain: want shape (5) for sources (3, 5), got (5) and (3)": {{5}, {3}, {3, 5}},
	} {
		for _, build := range []func(*graph.Builder, *gorgonia.Node, *gorgonia.Node, mix.DepthOptions, ...*gorgonia.Node) *gorgonia.Node{
			mix.DepthAttention, mix.DepthWeights,
		} {
			b := graph.On(gorgonia.NewGraph(), graph.Options{})
			var x gorgonia.Nodes
			for i, shape := range shapes {
				x = append(x, b.Input(fmt.Sprintf("x%d", i), tensor.Float32, shape...))
			}
			require.Nil(t, build(b, x[0], x[1], mix.DepthOptions{}, x[2:]...), want)
			optest.RequireLine(t, b.Err(), want)
		}
	}
}

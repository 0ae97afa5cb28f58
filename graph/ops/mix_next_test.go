package ops_test

import (
	"fmt"
	"math"
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
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

// mixNextCases are writes that read their result in the same pass, and rows that are carried as
// they are; in "readers" the stream has further readers, so that gradients meet.
func mixNextCases() []optest.Case {
	var cases []optest.Case
	for _, s := range []mixShape{{3, 4, 1, 5}, {2, 3, 2, 7}, {1, 1, 1, 1}, {2, 9, 2, 3}, {19, 2, 1, 4}, {2, 8, 2, 4}, {1, 6, 1, 8}, {2, 5, 3, 4}, {1, 2, 1, 132}} {
		for _, shared := range []bool{false, true} {
			for _, mixed := range []bool{false, true} {
				cases = append(cases, s.nextCases(shared, mixed)...)
			}
		}
	}
	return append(cases, sigmoidCoefficientCases()...)
}

func (s mixShape) nextCases(shared, mixed bool) []optest.Case {
	h, y, c := []int{s.tokens, s.n, s.d}, []int{s.tokens, s.m * s.d}, []int{s.tokens, s.n, 2 * s.m}
	if mixed {
		c[2] += s.n
	}
	if shared {
		c = c[1:]
	}
	name := fmt.Sprintf("%v shared=%t mixed=%t", s, shared, mixed)
	full := func(c []float64) []float64 {
		if mixed {
			return c
		}
		return s.packed(c)
	}
	gelu := func(x []float64) []float64 { return optest.WantGelu(x, false) }
	all := []optest.Case{
		{Name: "MixNext/" + name, Floats: [][]int{h, y, c},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				next, u, _ := mix.Next(b, x[0], x[1], x[2], s.m, mix.NextOptions{Read: true})
				return b.Add(next, mix.Write(b, next, u, x[2], s.m))
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				next := s.wantWrite(x[0], x[1], full(x[2]), shared)
				return optest.WantAdd([][]float64{next, s.wantWrite(next, s.wantRead(next, full(x[2]), shared), full(x[2]), shared)}, nil)
			}},
		{Name: "MixNext/read alone " + name, Floats: [][]int{h, y, c},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				_, u, _ := mix.Next(b, elementwise.Gelu(b, x[0], false), x[1], x[2], s.m, mix.NextOptions{Read: true})
				return u
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				return s.wantRead(s.wantWrite(gelu(x[0]), x[1], full(x[2]), shared), full(x[2]), shared)
			}},
	}
	all = append(all, s.heldCase(name, [][]int{h, y, c}, full, shared, mixed))
	all = append(all, s.projectionCases(name, [][]int{h, y, c}, full, shared)...)
	if mixed {
		return all
	}
	return append(all, optest.Case{Name: "MixWrite/" + name, Floats: [][]int{h, y, c},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			u := mix.Read(b, x[0], x[2], s.m)
			return mix.Write(b, x[0], b.Add(elementwise.Gelu(b, u, false), x[1]), x[2], s.m)
		},
		Want: func(x [][]float64, _ [][]int32) []float64 {
			u := s.wantRead(x[0], full(x[2]), shared)
			return s.wantWrite(x[0], optest.WantAdd([][]float64{gelu(u), x[1]}, nil), full(x[2]), shared)
		}})
}

// heldCase is a read of a written stream by coefficients of its own, one set for all tokens where
// those of the write are a set for each and the reverse: it leaves its gradient to the write.
func (s mixShape) heldCase(name string, floats [][]int, full func(c []float64) []float64, shared, mixed bool) optest.Case {
	by := []int{s.tokens, s.n, 2 * s.m}
	if mixed {
		by[2] += s.n
	}
	if !shared {
		by = by[1:]
	}
	return optest.Case{Name: "MixRead/of a write " + name, Floats: append(slices.Clone(floats), by),
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			h := mix.Write(b, x[0], x[1], x[2], s.m)
			return mix.Write(b, h, mix.Read(b, h, x[3], s.m), x[3], s.m)
		},
		Want: func(x [][]float64, _ [][]int32) []float64 {
			h := s.wantWrite(x[0], x[1], full(x[2]), shared)
			return s.wantWrite(h, s.wantRead(h, full(x[3]), !shared), full(x[3]), !shared)
		}}
}

// projectionCases are writes whose result is projected in the same pass, all of a token's rows
// jointly or each by itself.
func (s mixShape) projectionCases(name string, floats [][]int, full func(c []float64) []float64, shared bool) (cases []optest.Case) {
	for _, joint := range []bool{false, true} {
		w, o := s.projected(joint), norm.Options{RMS: joint || s.d == 1, Eps: 0.1}
		cases = append(cases, optest.Case{Name: fmt.Sprintf("MixNext/projection joint=%t %s", joint, name), Floats: append(slices.Clone(floats), w, w[:1]), MayBeNil: []int{4},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				_, _, z := mix.Next(b, x[0], x[1], x[2], s.m, mix.NextOptions{Project: &mix.Projection{W: x[3], Gain: x[4], Norm: o}})
				return z
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				next := s.wantWrite(x[0], x[1], full(x[2]), shared)
				return optest.WantLinear([][]float64{optest.WantNorm([][]float64{next, x[4]}, o), x[3]}, w[0], w[1], linear.Options{})
			}})
	}
	return cases
}

// projected returns the shape of a projection's w.
func (s mixShape) projected(joint bool) []int {
	if joint {
		return []int{s.n * s.d, 3}
	}
	return []int{s.d, 3}
}

// TestMixNextProjects compares writes that also read and project their result with the separate
// ops, and the gradients with difference quotients.
func TestMixNextProjects(t *testing.T) {
	for _, s := range []mixShape{{3, 4, 1, 5}, {2, 3, 2, 7}, {150, 2, 1, 4}, {1, 70, 1, 4}, {1, 2, 1, 132}} {
		for form := range 16 {
			shared, mixed, joint, read := form&1 > 0, form&2 > 0, form&4 > 0, form&8 > 0
			t.Run(fmt.Sprintf("%v shared=%t mixed=%t joint=%t read=%t", s, shared, mixed, joint, read), func(t *testing.T) {
				c := s.nextShapes(shared, mixed, joint)
				c.Build = s.nextBuild(true, read, joint)
				fused := optest.NewProgram(t, c, graph.NewStore(tensor.Float64, 3), graph.ProgramOptions{})
				if s.n < 10 { // the quotients of many rows that are mixed twice are less exact
					optest.CheckGradients(t, c, fused)
				}
				c.Build = s.nextBuild(false, read, joint)
				optest.SameResults(t, c, fused, optest.NewProgram(t, c, graph.NewStore(tensor.Float64, 3), graph.ProgramOptions{}))
			})
		}
	}
}

func (s mixShape) nextShapes(shared, mixed, joint bool) optest.Case {
	c := []int{s.tokens, s.n, 2 * s.m}
	if mixed {
		c[2] += s.n
	}
	if shared {
		c = c[1:]
	}
	w := s.projected(joint)
	return optest.Case{Floats: [][]int{{s.tokens, s.n, s.d}, {s.tokens, s.m * s.d}, c, w, w[:1]}}
}

// nextBuild puts z, u and a write to the result side by side, made by one op or by several.
func (s mixShape) nextBuild(fused, read, joint bool) func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
	return func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		var next, u, z *gorgonia.Node
		o := norm.Options{RMS: joint, Eps: 0.1}
		if fused {
			next, u, z = mix.Next(b, x[0], x[1], x[2], s.m, mix.NextOptions{Read: read, Project: &mix.Projection{W: x[3], Gain: x[4], Norm: o}})
		} else {
			next = mix.Write(b, x[0], x[1], x[2], s.m)
			z = norm.Linear(b, next, x[4], x[3], o)
		}
		if u == nil {
			u = mix.Read(b, next, x[2], s.m)
		}
		again := mix.Write(b, next, u, x[2], s.m)
		return shape.Concat(b, shape.Reshape(b, z, graph.SignatureOf(z).Width()), u, shape.Reshape(b, again, s.n*s.d))
	}
}

// packed puts the unit matrix between the columns for reading and writing.
func (s mixShape) packed(c []float64) (all []float64) {
	for i := 0; i*2*s.m < len(c); i++ {
		row := c[i*2*s.m:][:2*s.m]
		all = append(all, row[:s.m]...)
		for k := range s.n {
			one := 0.
			if k == i%s.n {
				one = 1
			}
			all = append(all, one)
		}
		all = append(all, row[s.m:]...)
	}
	return all
}

// sigmoidCoefficientCases are factors for reading, and for reading and writing, of each token or of
// all.
func sigmoidCoefficientCases() (cases []optest.Case) {
	for _, o := range []mix.SigmoidOptions{
		{N: 3}, {N: 4, Write: true}, {N: 1, Write: true, Factor: 1.5, Eps: 0.1}, {N: 9, Write: true, Factor: 3}, {N: 2, Eps: 0.3},
	} {
		groups := 1
		if o.Write {
			groups = 2
		}
		for _, tokens := range []int{0, 1, 37} {
			c := optest.Case{Name: fmt.Sprintf("SigmoidCoefficients/%+v tokens=%d", o, tokens), Floats: [][]int{{tokens, groups * o.N}, {groups}, {groups * o.N}},
				Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
					if tokens == 0 {
						return mix.SigmoidCoefficients(b, nil, nil, x[0], o)
					}
					return mix.SigmoidCoefficients(b, x[0], x[1], x[2], o)
				},
				Want: func(x [][]float64, _ [][]int32) []float64 {
					if tokens == 0 {
						return wantSigmoidCoefficients(make([]float64, len(x[0])), make([]float64, groups), x[0], o)
					}
					return wantSigmoidCoefficients(x[0], x[1], x[2], o)
				}}
			if tokens == 0 {
				c.Floats = c.Floats[2:]
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func wantSigmoidCoefficients(z, alpha, bias []float64, o mix.SigmoidOptions) (c []float64) {
	factors := []float64{1, 2}
	if o.Factor > 0 {
		factors[1] = o.Factor
	}
	for t := 0; t < len(z); t += len(bias) {
		for i := range o.N {
			for g, a := range alpha {
				e := g*o.N + i
				c = append(c, factors[g]/(1+math.Exp(-a*z[t+e]-bias[e]))+o.Eps)
			}
		}
	}
	return c
}

func TestSigmoidCoefficientErrors(t *testing.T) {
	in := func(z, alpha, bias, n int) error {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		zNode, alphaNode, biasNode := b.Input("z", tensor.Float32, 5, z), b.Input("alpha", tensor.Float32, alpha), b.Input("bias", tensor.Float32, bias)
		mix.SigmoidCoefficients(b, zNode, alphaNode, biasNode, mix.SigmoidOptions{N: n, Write: true})
		return b.Err()
	}
	require.NoError(t, in(6, 2, 6, 3))
	optest.RequireLine(t, in(7, 2, 6, 3), "z: want shape [tokens, 6] for 3 streams, got (5, 7)")
	optest.RequireLine(t, in(6, 3, 6, 3), "alpha: want shape (2), of pre and post, got (3)")
	optest.RequireLine(t, in(6, 2, 7, 3), "bias: want shape (6) for 3 streams, got (7)")
	optest.RequireLine(t, in(6, 2, 6, 0), "n: want 1 to 4096 streams, got 0")
}

// mixNextProgram is a program of sublayers on a stream of four rows, each of which reads what the
// one before it has read for it.
func mixNextProgram(t *testing.T, mixed bool, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	const tokens, n, d = 6, 4, 5
	columns := 2
	if mixed {
		columns += n
	}
	o.Options, o.Gradients = graph.Options{Threads: 1, Seed: 1, DType: tensor.Float64}, true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5)})
		}
		u := b.Add(param("x", tokens, d))
		h := shape.Copies(b, u, n)                                          // [T, n, d]
		z := linear.Map(b, h, param("w", n*d, n*columns), linear.Options{}) // [T, n*columns]
		for i := range 3 {
			b.Block(func() {
				var project *mix.Projection
				if i < 2 {
					project = &mix.Projection{W: param(fmt.Sprintf("w%d", i), n*d, n*columns), Norm: norm.Options{RMS: true}}
				}
				y := linear.Map(b, u, param(fmt.Sprintf("f%d", i), d, d), linear.Options{})
				h, u, z = mix.Next(b, h, y, shape.Reshape(b, z, n, columns), 1, mix.NextOptions{Read: true, Project: project})
			})
		}
		targets := b.Input("targets", tensor.Int32, tokens)
		return graph.Roots{Loss: loss.CrossEntropy(b, b.Add(shape.SumCopies(b, h), u), param("out", d, 7), targets, loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestMixNextProgram checks that shared buffers, separate ones and recomputation give the same
// gradients, and the FLOPs.
func TestMixNextProgram(t *testing.T) {
	for _, mixed := range []bool{true, false} {
		optest.SameInAnyMemory(t, func(o graph.ProgramOptions) *graph.Program { return mixNextProgram(t, mixed, o) })
		p := mixNextProgram(t, mixed, graph.ProgramOptions{})
		require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
		assert.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs)
	}
}

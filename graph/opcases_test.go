package graph

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// opCase is one op in one form. Everything that holds for every op (finite differences,
// stock nodes around it, no allocation) is tested over the whole table, so that adding an
// op means adding a row.
type opCase struct {
	name   string
	floats [][]int // shapes of the float inputs, all differentiable
	ints   []intInput
	build  func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node
	// want is the op's equation in plain loops; nil where an op draws at random.
	want       func(x [][]float64, ids [][]int32) []float64
	noGradient bool
	training   bool
	addFirst   bool // the output meets a stock Add before the stock Reshape
}

// intInput is an Int32 input: its shape and how entry i is drawn.
type intInput struct {
	shape []int
	draw  func(r *rand.Rand, i int) int32
}

func below(n int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, _ int) int32 { return int32(r.IntN(n)) }
}

// belowOrIgnored draws targets of which some are negative, the first never.
func belowOrIgnored(n int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, i int) int32 {
		if i > 0 && r.IntN(3) == 0 {
			return -1
		}
		return int32(r.IntN(n))
	}
}

// startsOf draws a document start for each token of rows of seq tokens.
func startsOf(seq int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, i int) int32 { return int32(r.IntN(i%seq + 1)) }
}

// opCases is the table.
func opCases() []opCase {
	var all []opCase
	for _, group := range [][]opCase{embeddingCases(), linearCases(), linearGeluCases(), normCases(), streamCases(), normReadCases(), elementwiseCases(),
		normLinearCases(), coefficientCases(), attentionCases(), lossCases(), tokenCases(), gateCases(), reshapeCases(), mixCases(), moeCases(),
		patternCases(), moeTermsCases(), hadamardCases(), weightedSumCases()} {
		all = append(all, group...)
	}
	return all
}

func embeddingCases() []opCase {
	make := func(name string, table, ids []int, scale float64) opCase {
		return opCase{name: "Embedding/" + name, floats: [][]int{table}, ints: []intInput{{ids, below(table[0])}},
			build: func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node { return b.Embedding(x[0], ids[0], scale) },
			want: func(x [][]float64, ids [][]int32) []float64 {
				return wantEmbedding(x[0], ids[0], product(table[1:]), scale)
			}}
	}
	return []opCase{
		make("vectors", []int{5, 3}, []int{2, 7}, 1),
		make("matrices scaled", []int{7, 2, 3}, []int{11}, 0.5),
		make("one token", []int{1, 1}, []int{1, 1}, 3),
	}
}

func linearCases() []opCase {
	make := func(name string, x, w []int, bias int, o LinearOptions) opCase {
		c := opCase{name: "Linear/" + name, floats: [][]int{x, w},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				o := o
				if len(x) > 2 {
					o.Bias = x[2]
				}
				return b.Linear(x[0], x[1], o)
			},
			want: func(x [][]float64, _ [][]int32) []float64 {
				return wantLinear(x, w[0], product(w[1:]), o)
			}}
		if bias > 0 {
			c.floats = append(c.floats, []int{bias})
		}
		return c
	}
	return []opCase{
		make("plain", []int{3, 5}, []int{5, 2}, 0, LinearOptions{}),
		make("bias", []int{3, 5}, []int{5, 7}, 7, LinearOptions{}),
		make("scale", []int{3, 2, 5}, []int{10, 3}, 0, LinearOptions{Scale: 0.7}),
		make("transposed", []int{3, 2, 5}, []int{7, 2, 5}, 0, LinearOptions{Transposed: true}),
		make("transposed scale bias", []int{2, 3}, []int{5, 3}, 5, LinearOptions{Transposed: true, Scale: -1.3}),
		make("one by one", []int{1, 1}, []int{1, 1}, 1, LinearOptions{}),
		{name: "Bias/vectors", floats: [][]int{{3, 5}, {5}}, build: buildBias, want: wantBias},
		{name: "Bias/matrices", floats: [][]int{{3, 2, 5}, {2, 5}}, build: buildBias, want: wantBias},
		{name: "Bias/one token", floats: [][]int{{1, 1}, {1}}, build: buildBias, want: wantBias},
	}
}

func buildBias(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Bias(x[0], x[1]) }

// linearGeluCases read the two outputs of LinearGelu in all ways that change its gradient.
func linearGeluCases() []opCase {
	const in, hidden, out = 5, 3, 2
	linear := func(x, w []float64, rows, columns int) []float64 {
		return wantLinear([][]float64{x, w}, rows, columns, LinearOptions{})
	}
	make := func(name string, exact bool, build func(b *Builder, h, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node,
		want func(h, y []float64, w [][]float64) []float64, more ...[]int) opCase {
		return opCase{name: "LinearGelu/" + name, floats: append([][]int{{7, in}, {in, hidden}}, more...),
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				h, y := b.LinearGelu(x[0], x[1], exact)
				return build(b, h, y, x[2:])
			},
			want: func(x [][]float64, _ [][]int32) []float64 {
				h := linear(x[0], x[1], in, hidden)
				return want(h, wantGelu(h, exact), x[2:])
			}}
	}
	then := func(b *Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
		return b.Linear(y, w[0], LinearOptions{})
	}
	wantThen := func(_, y []float64, w [][]float64) []float64 { return linear(y, w[0], hidden, out) }
	return []opCase{
		make("alone", false, func(_ *Builder, _, y *gorgonia.Node, _ gorgonia.Nodes) *gorgonia.Node { return y },
			func(_, y []float64, _ [][]float64) []float64 { return y }),
		make("both", true, func(b *Builder, h, y *gorgonia.Node, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(h, y) },
			func(h, y []float64, _ [][]float64) []float64 { return wantAdd([][]float64{h, y}, nil) }),
		make("then Linear", false, then, wantThen, []int{hidden, out}),
		make("then Linear exact", true, then, wantThen, []int{hidden, out}),
		make("then transposed", false,
			func(b *Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Linear(y, w[0], LinearOptions{Transposed: true})
			},
			func(_, y []float64, w [][]float64) []float64 {
				return wantLinear([][]float64{y, w[0]}, out, hidden, LinearOptions{Transposed: true})
			}, []int{out, hidden}),
		make("then scaled", false,
			func(b *Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Linear(y, w[0], LinearOptions{Scale: 0.3})
			},
			func(_, y []float64, w [][]float64) []float64 { return wantScale(linear(y, w[0], hidden, out), 0.3) }, []int{hidden, out}),
		make("then Linear twice", false,
			func(b *Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Add(b.Linear(y, w[0], LinearOptions{}), b.Linear(y, w[1], LinearOptions{}))
			},
			func(_, y []float64, w [][]float64) []float64 {
				return wantAdd([][]float64{linear(y, w[0], hidden, out), linear(y, w[1], hidden, out)}, nil)
			}, []int{hidden, out}, []int{hidden, out}),
		make("h and y to Linears", false,
			func(b *Builder, h, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Add(b.Linear(y, w[0], LinearOptions{}), b.Linear(h, w[1], LinearOptions{}))
			},
			func(h, y []float64, w [][]float64) []float64 {
				return wantAdd([][]float64{linear(y, w[0], hidden, out), linear(h, w[1], hidden, out)}, nil)
			}, []int{hidden, out}, []int{hidden, out}),
	}
}

func normCases() []opCase {
	var cases []opCase
	for _, o := range []NormOptions{{}, {RMS: true}, {Eps: 1e-2}, {Groups: 2}, {Groups: 2, RMS: true}} {
		for _, bias := range []bool{false, true} {
			for _, shapes := range [][2][]int{{{4, 5}, {5}}, {{2, 3, 5}, {3, 5}}, {{2, 3, 5}, {5}}, {{1, 3}, {3}}, {{7, 3, 4}, {2, 6}}} {
				x, gain := shapes[0], shapes[1]
				if grouped := product(gain) == product(x[1:]) && gain[0] == 2; grouped != (o.Groups > 0) {
					continue
				}
				c := opCase{name: fmt.Sprintf("Norm/%v bias=%t %v over %v", o.kind(), bias, x, gain), floats: [][]int{x, gain},
					build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
						o := o
						if bias {
							o.Bias = x[2]
						}
						return b.Norm(x[0], x[1], o)
					},
					want: func(x [][]float64, _ [][]int32) []float64 { return wantNorm(x, o) }}
				if bias {
					c.floats = append(c.floats, gain)
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// streamCases are Read and Write.
func streamCases() []opCase {
	read := func(x, keys []int) opCase {
		return opCase{name: fmt.Sprintf("Read/%v %v", x, keys), floats: [][]int{x, keys},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Read(x[0], x[1]) },
			want:  func(v [][]float64, _ [][]int32) []float64 { return wantRead(v[0], v[1], x[1], x[2]) }}
	}
	write := func(x, keys, y []int) opCase {
		c := opCase{name: fmt.Sprintf("Write/%v %v %v", x, keys, y), floats: [][]int{keys, y},
			build: func(b *Builder, n, _ gorgonia.Nodes) *gorgonia.Node {
				if x == nil {
					return b.Write(nil, n[0], n[1])
				}
				return b.Write(n[2], n[0], n[1])
			},
			want: func(v [][]float64, _ [][]int32) []float64 { return wantWrite(v, keys[len(keys)-1], y[0]) }}
		if x != nil {
			c.floats = append(c.floats, x)
		}
		return c
	}
	return []opCase{
		read([]int{3, 5, 7}, []int{2, 5}),
		read([]int{2, 7, 3}, []int{3, 2, 7}),
		read([]int{1, 1, 1}, []int{1, 1}),
		write(nil, []int{2, 5}, []int{3, 14}),
		write(nil, []int{1, 1}, []int{1, 1}),
		write([]int{3, 5, 7}, []int{2, 5}, []int{3, 2, 7}),
		write([]int{2, 5, 3}, []int{3, 2, 5}, []int{2, 3, 2, 3}),
		write([]int{1, 2, 1}, []int{1, 2}, []int{1, 1}),
	}
}

func normReadCases() []opCase {
	var cases []opCase
	for _, o := range []NormOptions{{}, {RMS: true}} {
		for _, bias := range []bool{false, true} {
			for _, shapes := range [][2][]int{{{3, 5, 7}, {2, 5}}, {{2, 3, 5}, {3, 2, 3}}, {{1, 3, 1}, {1, 3}}} {
				x, keys := shapes[0], shapes[1]
				c := opCase{name: fmt.Sprintf("NormRead/%v bias=%t %v %v", o.kind(), bias, x, keys), floats: [][]int{x, x[1:], keys},
					build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
						o := o
						if bias {
							o.Bias = x[3]
						}
						return b.NormRead(x[0], x[1], x[2], o)
					},
					want: func(v [][]float64, _ [][]int32) []float64 {
						return wantRead(wantNorm(append([][]float64{v[0], v[1]}, v[3:]...), o), v[2], x[1], x[2])
					}}
				if bias {
					c.floats = append(c.floats, x[1:])
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}

func elementwiseCases() []opCase {
	gelu := func(exact bool, shape ...int) opCase {
		return opCase{name: fmt.Sprintf("Gelu/exact=%t %v", exact, shape), floats: [][]int{shape},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Gelu(x[0], exact) },
			want:  func(x [][]float64, _ [][]int32) []float64 { return wantGelu(x[0], exact) }}
	}
	add := func(n int, shape ...int) opCase {
		c := opCase{name: fmt.Sprintf("Add/%d of %v", n, shape), want: wantAdd,
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(x...) }}
		for range n {
			c.floats = append(c.floats, shape)
		}
		return c
	}
	return []opCase{
		gelu(false, 3, 5), gelu(true, 3, 5), gelu(false, 1, 1), gelu(true, 2, 3, 7),
		add(1, 3, 5), add(2, 2, 3, 5), add(3, 1, 1), add(7, 3, 5),
		{name: "Add/one node twice", floats: [][]int{{3, 5}, {3, 5}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(x[0], x[1], x[0]) },
			want:  func(x [][]float64, _ [][]int32) []float64 { return wantAdd([][]float64{x[0], x[1], x[0]}, nil) }},
		{name: "Scale", floats: [][]int{{3, 5}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Scale(x[0], -0.3) },
			want:  func(x [][]float64, _ [][]int32) []float64 { return wantScale(x[0], -0.3) }},
		{name: "Dropout", floats: [][]int{{7, 5}}, training: true,
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Dropout(x[0], 0.3) }},
		{name: "Hook", floats: [][]int{{3, 5}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Hook("hooked", x[0]) },
			want:  func(x [][]float64, _ [][]int32) []float64 { return x[0] }},
	}
}

func attentionCases() []opCase {
	make := func(name string, batch int, masked bool, headDim int, o AttentionOptions) opCase {
		tokens := batch * o.Seq
		c := opCase{name: "CausalAttention/" + name, floats: [][]int{{tokens, 3, o.Heads, headDim}},
			build: func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				o := o
				if masked {
					o.Starts = ids[0]
				}
				return b.CausalAttention(x[0], o)
			},
			want: func(x [][]float64, ids [][]int32) []float64 {
				var starts []int32
				if masked {
					starts = ids[0]
				}
				return wantAttention(x[0], starts, batch, headDim, o)
			}}
		if masked {
			c.ints = []intInput{{[]int{batch, o.Seq}, startsOf(o.Seq)}}
		}
		return c
	}
	return []opCase{
		make("one head", 1, false, 3, AttentionOptions{Heads: 1, Seq: 5, Scale: 0.6}),
		make("one token", 1, false, 2, AttentionOptions{Heads: 3, Seq: 1, Scale: 0.7}),
		make("heads and rows", 2, false, 5, AttentionOptions{Heads: 3, Seq: 3, Scale: 0.3}),
		make("alibi", 2, false, 3, AttentionOptions{Heads: 2, Seq: 5, Scale: 0.5, Slopes: []float64{0.5, 0.0625}}),
		make("rope", 2, false, 4, AttentionOptions{Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100}),
		make("starts", 2, true, 3, AttentionOptions{Heads: 2, Seq: 7, Scale: 0.5}),
		make("everything", 2, true, 2, AttentionOptions{Heads: 3, Seq: 5, Scale: 0.5, Slopes: []float64{1, 0.5, 0.25}, RopeBase: 10000}),
		make("more than a block", 1, true, 2, AttentionOptions{Heads: 1, Seq: 67, Scale: 0.5}),
	}
}

func lossCases() []opCase {
	make := func(name string, x, w []int, draw func(*rand.Rand, int) int32, o LossOptions) opCase {
		return opCase{name: "CrossEntropy/" + name, floats: [][]int{x, w}, ints: []intInput{{[]int{x[0]}, draw}},
			build: func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node { return b.CrossEntropy(x[0], x[1], ids[0], o) },
			want: func(v [][]float64, ids [][]int32) []float64 {
				loss, _ := wantLoss(v[0], v[1], ids[0], product(x[1:]), o)
				return []float64{loss}
			}}
	}
	cases := []opCase{
		make("plain", []int{3, 5}, []int{5, 7}, below(7), LossOptions{}),
		make("z-loss", []int{3, 5}, []int{5, 7}, below(7), LossOptions{ZLoss: 0.1}),
		make("transposed", []int{5, 2, 3}, []int{7, 2, 3}, below(7), LossOptions{Transposed: true}),
		make("ignored", []int{11, 3}, []int{3, 5}, belowOrIgnored(5), LossOptions{}),
		make("everything", []int{11, 3}, []int{5, 3}, belowOrIgnored(5), LossOptions{Transposed: true, Scale: 0.4, ZLoss: 0.2}),
		make("one token", []int{1, 1}, []int{1, 2}, below(2), LossOptions{Scale: 2}),
	}
	for _, transposed := range []bool{false, true} {
		w := []int{3, 5}
		if transposed {
			w = []int{5, 3}
		}
		o := LossOptions{Transposed: transposed, Scale: 0.8}
		cases = append(cases, opCase{name: fmt.Sprintf("TokenLosses/transposed=%t", transposed), floats: [][]int{{7, 3}, w}, noGradient: true,
			ints:  []intInput{{[]int{7}, belowOrIgnored(5)}},
			build: func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node { return b.TokenLosses(x[0], x[1], ids[0], o) },
			want: func(v [][]float64, ids [][]int32) []float64 {
				_, each := wantLoss(v[0], v[1], ids[0], 3, o)
				return each
			}})
	}
	return cases
}

// tokenCases are the ops on Int32.
func tokenCases() []opCase {
	const bos = 2
	return []opCase{
		{name: "Positions", ints: []intInput{{[]int{3, 5}, below(9)}}, noGradient: true,
			build: func(b *Builder, _, ids gorgonia.Nodes) *gorgonia.Node { return b.Positions(ids[0]) },
			want: func(_ [][]float64, ids [][]int32) []float64 {
				positions := make([]float64, len(ids[0]))
				for i := range positions {
					positions[i] = float64(i % 5)
				}
				return positions
			}},
		{name: "DocumentStarts", ints: []intInput{{[]int{3, 11}, below(4)}}, noGradient: true,
			build: func(b *Builder, _, ids gorgonia.Nodes) *gorgonia.Node { return b.DocumentStarts(ids[0], bos) },
			want:  func(_ [][]float64, ids [][]int32) []float64 { return wantStarts(ids[0], 11, bos) }},
	}
}

// caseOptions are the builder's options for a case.
func (c opCase) options(dt tensor.Dtype) Options {
	return Options{Threads: 2, DType: dt, Training: c.training, Seed: 7, Hooks: Hooks{"hooked": nil}}
}

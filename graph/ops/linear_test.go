package ops_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

func linearCases() []optest.Case {
	make := func(name string, x, w []int, bias int, o linear.Options) optest.Case {
		c := optest.Case{Name: "Linear/" + name, MayBeNil: []int{2}, Floats: [][]int{x, w},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				o := o
				if len(x) > 2 {
					o.Bias = x[2]
				}
				return linear.Map(b, x[0], x[1], o)
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				return optest.WantLinear(x, w[0], optest.Product(w[1:]), o)
			}}
		if bias > 0 {
			c.Floats = append(c.Floats, []int{bias})
		}
		return c
	}
	return []optest.Case{
		make("plain", []int{3, 5}, []int{5, 2}, 0, linear.Options{}),
		make("bias", []int{3, 5}, []int{5, 7}, 7, linear.Options{}),
		make("scale", []int{3, 2, 5}, []int{10, 3}, 0, linear.Options{Scale: 0.7}),
		make("transposed", []int{3, 2, 5}, []int{7, 2, 5}, 0, linear.Options{Transposed: true}),
		make("transposed scale bias", []int{2, 3}, []int{5, 3}, 5, linear.Options{Transposed: true, Scale: -1.3}),
		make("one by one", []int{1, 1}, []int{1, 1}, 1, linear.Options{}),
		make("rows", []int{3, 2, 5}, []int{5, 7}, 0, linear.Options{Rows: true}),
		make("rows scale", []int{2, 3, 2, 3}, []int{3, 1}, 0, linear.Options{Rows: true, Scale: 0.7, AddGradient: true}),
		linearAddGradientCase(linear.Options{AddGradient: true}), linearAddGradientCase(linear.Options{AddGradient: true, Transposed: true, Scale: 0.7}),
		{Name: "Bias/vectors", Floats: [][]int{{3, 5}, {5}}, Build: buildBias, Want: wantBias},
		{Name: "Bias/matrices", Floats: [][]int{{3, 2, 5}, {2, 5}}, Build: buildBias, Want: wantBias},
		{Name: "Bias/one token", Floats: [][]int{{1, 1}, {1}}, Build: buildBias, Want: wantBias},
	}
}

// linearAddGradientCase returns a case in which another op reads x later, so that x has a gradient
// before the product adds to it.
func linearAddGradientCase(o linear.Options) optest.Case {
	return optest.Case{Name: fmt.Sprintf("Linear/add gradient transposed=%t", o.Transposed), Floats: [][]int{{7, 2, 3}, {6, 6}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			z := b.Add(x[0], x[0])
			y := linear.Map(b, z, x[1], o)
			return b.Add(y, linear.Map(b, z, x[1], linear.Options{Scale: 0.3}))
		},
		Want: func(x [][]float64, _ [][]int32) []float64 {
			z := optest.WantAdd([][]float64{x[0], x[0]}, nil)
			return optest.WantAdd([][]float64{
				optest.WantLinear([][]float64{z, x[1]}, 6, 6, o), optest.WantLinear([][]float64{z, x[1]}, 6, 6, linear.Options{Scale: 0.3})}, nil)
		}}
}

func buildBias(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
	return linear.Bias(b, x[0], x[1])
}

// linearActivatedCases read the two outputs of MapActivated in all ways that affect its gradient.
func linearActivatedCases() []optest.Case {
	const in, hidden, out = 5, 3, 2
	product := func(x, w []float64, rows, columns int) []float64 {
		return optest.WantLinear([][]float64{x, w}, rows, columns, linear.Options{})
	}
	make := func(name string, exact bool, build func(b *graph.Builder, h, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node,
		want func(h, y []float64, w [][]float64) []float64, more ...[]int) optest.Case {
		return optest.Case{Name: "LinearGelu/" + name, Floats: append([][]int{{7, in}, {in, hidden}}, more...),
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				h, y := linear.MapActivated(b, x[0], x[1], kernel.Gelu(exact))
				return build(b, h, y, x[2:])
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				h := product(x[0], x[1], in, hidden)
				return want(h, optest.WantGelu(h, exact), x[2:])
			}}
	}
	then := func(b *graph.Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
		return linear.Map(b, y, w[0], linear.Options{})
	}
	wantThen := func(_, y []float64, w [][]float64) []float64 { return product(y, w[0], hidden, out) }
	return []optest.Case{
		make("alone", false, func(_ *graph.Builder, _, y *gorgonia.Node, _ gorgonia.Nodes) *gorgonia.Node { return y },
			func(_, y []float64, _ [][]float64) []float64 { return y }),
		make("both", true, func(b *graph.Builder, h, y *gorgonia.Node, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(h, y) },
			func(h, y []float64, _ [][]float64) []float64 { return optest.WantAdd([][]float64{h, y}, nil) }),
		make("then Linear", false, then, wantThen, []int{hidden, out}),
		make("then Linear exact", true, then, wantThen, []int{hidden, out}),
		make("then transposed", false,
			func(b *graph.Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return linear.Map(b, y, w[0], linear.Options{Transposed: true})
			},
			func(_, y []float64, w [][]float64) []float64 {
				return optest.WantLinear([][]float64{y, w[0]}, out, hidden, linear.Options{Transposed: true})
			}, []int{out, hidden}),
		make("then scaled", false,
			func(b *graph.Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return linear.Map(b, y, w[0], linear.Options{Scale: 0.3})
			},
			func(_, y []float64, w [][]float64) []float64 {
				return optest.WantScale(product(y, w[0], hidden, out), 0.3)
			}, []int{hidden, out}),
		make("then Linear twice", false,
			func(b *graph.Builder, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Add(linear.Map(b, y, w[0], linear.Options{}), linear.Map(b, y, w[1], linear.Options{}))
			},
			func(_, y []float64, w [][]float64) []float64 {
				return optest.WantAdd([][]float64{product(y, w[0], hidden, out), product(y, w[1], hidden, out)}, nil)
			}, []int{hidden, out}, []int{hidden, out}),
		make("h and y to Linears", false,
			func(b *graph.Builder, h, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
				return b.Add(linear.Map(b, y, w[0], linear.Options{}), linear.Map(b, h, w[1], linear.Options{}))
			},
			func(h, y []float64, w [][]float64) []float64 {
				return optest.WantAdd([][]float64{product(y, w[0], hidden, out), product(h, w[1], hidden, out)}, nil)
			}, []int{hidden, out}, []int{hidden, out}),
	}
}

func wantBias(in [][]float64, _ [][]int32) []float64 {
	y := make([]float64, len(in[0]))
	for i, v := range in[0] {
		y[i] = v + in[1][i%len(in[1])]
	}
	return y
}

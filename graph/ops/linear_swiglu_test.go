package ops_test

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// swiGLUCases read the outputs of MapSwiGLU in all ways that affect its gradient.
func swiGLUCases() []optest.Case {
	const in, hidden, out = 5, 3, 2
	product := func(x, w []float64, rows, columns int) []float64 {
		return optest.WantLinear([][]float64{x, w}, rows, columns, linear.Options{})
	}
	make := func(name string, build func(b *graph.Builder, gate, value, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node,
		want func(gate, value, y []float64, w [][]float64) []float64, more ...[]int) optest.Case {
		return optest.Case{Name: "MapSwiGLU/" + name, Floats: append([][]int{{7, in}, {in, hidden}, {in, hidden}}, more...),
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				gate, value, y := linear.MapSwiGLU(b, x[0], x[1], x[2])
				return build(b, gate, value, y, x[3:])
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				gate, value := product(x[0], x[1], in, hidden), product(x[0], x[2], in, hidden)
				return want(gate, value, optest.WantSwiGLU(gate, value), x[3:])
			}}
	}
	return []optest.Case{
		make("alone", func(_ *graph.Builder, _, _, y *gorgonia.Node, _ gorgonia.Nodes) *gorgonia.Node { return y },
			func(_, _, y []float64, _ [][]float64) []float64 { return y }),
		make("then Linear", func(b *graph.Builder, _, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
			return linear.Map(b, y, w[0], linear.Options{})
		}, func(_, _, y []float64, w [][]float64) []float64 { return product(y, w[0], hidden, out) }, []int{hidden, out}),
		make("then transposed", func(b *graph.Builder, _, _, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
			return linear.Map(b, y, w[0], linear.Options{Transposed: true})
		}, func(_, _, y []float64, w [][]float64) []float64 {
			return optest.WantLinear([][]float64{y, w[0]}, out, hidden, linear.Options{Transposed: true})
		}, []int{out, hidden}),
		make("all", func(b *graph.Builder, gate, value, y *gorgonia.Node, w gorgonia.Nodes) *gorgonia.Node {
			return b.Add(linear.Map(b, y, w[0], linear.Options{}), linear.Map(b, gate, w[0], linear.Options{}), linear.Map(b, value, w[0], linear.Options{}))
		}, func(gate, value, y []float64, w [][]float64) []float64 {
			return product(optest.WantAdd([][]float64{gate, value, y}, nil), w[0], hidden, out)
		}, []int{hidden, out}),
	}
}

package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

func linearPartsCases() []optest.Case {
	make := func(tokens, in int, widths ...int) optest.Case {
		out := 0
		for _, width := range widths {
			out += width
		}
		return optest.Case{Name: fmt.Sprintf("Parts/%d of %d to %v", tokens, in, widths), Floats: [][]int{{tokens, len(widths), in}, {in, out}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return linear.Parts(b, x[0], x[1], widths...)
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				y := []float64(nil)
				for t := range tokens {
					column := 0
					for i, width := range widths {
						for range width {
							sum := 0.0
							for k := range in {
								sum += x[0][(t*len(widths)+i)*in+k] * x[1][k*out+column]
							}
							y, column = append(y, sum), column+1
						}
					}
				}
				return y
			}}
	}
	return []optest.Case{make(3, 5, 4, 4, 4), make(2, 3, 6, 2, 1), make(1, 1, 1), make(7, 33, 17, 16)}
}

// TestLinearPartsOfEqualInputs: if all parts read the same values, the product has the same bits as
// Map.
func TestLinearPartsOfEqualInputs(t *testing.T) {
	const tokens, in, width = 37, 48, 48
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2}}, func(b *graph.Builder) (graph.Roots, error) {
		x, same, w := b.Input("x", tensor.Float32, tokens, in), b.Input("same", tensor.Float32, tokens, 3, in), b.Input("w", tensor.Float32, in, 3*width)
		return graph.Roots{Outputs: gorgonia.Nodes{linear.Map(b, x, w, linear.Options{}), linear.Parts(b, same, w, width, width, width)}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	x, same, w := p.Input("x").Float32s(), p.Input("same").Float32s(), p.Input("w").Float32s()
	for i := range x {
		x[i] = float32(i%23)/7 - 1.5
		for part := range 3 {
			same[(i/in*3+part)*in+i%in] = x[i]
		}
	}
	for i := range w {
		w[i] = float32(i%31)/11 - 1.4
	}
	require.NoError(t, p.Run(graph.RunOptions{}))
	want, err := graph.Value(p.Roots().Outputs[0])
	require.NoError(t, err)
	got, err := graph.Value(p.Roots().Outputs[1])
	require.NoError(t, err)
	require.Equal(t, want.Float32s(), got.Float32s())
}

// TestLinearPartsShapes checks that the op refuses wrong shapes.
func TestLinearPartsShapes(t *testing.T) {
	for want, c := range map[string]struct{ x, w, widths []int }{
		"widths: want a sum of 6, the columns of the weight, got [2 3]":            {[]int{4, 2, 5}, []int{5, 6}, []int{2, 3}},
		"widths: want >= 1 each, got [0 6]":                                        {[]int{4, 2, 5}, []int{5, 6}, []int{0, 6}},
		"x: want shape [tokens, 2, 5] for a weight of shape (5, 6), got (4, 3, 5)": {[]int{4, 3, 5}, []int{5, 6}, []int{2, 4}},
		"w: want shape [in, out], got (6)":                                         {[]int{4, 2, 5}, []int{6}, []int{2, 4}},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, linear.Parts(b, b.Input("x", tensor.Float32, c.x...), b.Input("w", tensor.Float32, c.w...), c.widths...), want)
		optest.RequireLine(t, b.Err(), want)
	}
}

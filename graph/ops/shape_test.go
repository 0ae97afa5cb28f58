package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

func concatCases() []optest.Case {
	make := func(name string, shapes ...[]int) optest.Case {
		return optest.Case{Name: "Concat/" + name, Floats: shapes,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Concat(b, x...) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return optest.WantConcat(v, shapes[0][0]) }}
	}
	return []optest.Case{
		make("one", []int{3, 5}), make("vectors", []int{3, 5}, []int{3, 1}, []int{3, 2}), make("matrices", []int{2, 3, 5}, []int{2, 7}),
		make("one token", []int{1, 1}, []int{1, 1}),
		{Name: "Concat/one node twice", Floats: [][]int{{3, 5}, {3, 2}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Concat(b, x[0], x[1], x[0]) },
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantConcat([][]float64{v[0], v[1], v[0]}, 3)
			}},
	}
}

func constantCases() []optest.Case {
	numbers := []float64{0, 1, -2.5, 1e-3, 7, 0}
	return []optest.Case{
		{Name: "Constant/next to what is learned", Floats: [][]int{{3, 4}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return shape.Concat(b, x[0], shape.Constant(b, x[0], numbers, 3, 2))
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantConcat([][]float64{v[0], numbers}, 3)
			}},
	}
}

// TestConstantWantsItsShape: numbers that do not fill the shape are refused.
func TestConstantWantsItsShape(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	shape.Constant(b, b.Input("x", tensor.Float32, 2, 2), []float64{1, 2, 3}, 2, 2)
	assert.EqualError(t, b.Err(), "graph: Constant (2, 2) [1 2 3]: values: want 4 for shape (2, 2), got 3")
}

func sliceCases() []optest.Case {
	cut := func(x []float64, tokens, from, to int) []float64 {
		var y []float64
		for t := range tokens {
			y = append(y, x[t*len(x)/tokens:][from:to]...)
		}
		return y
	}
	return []optest.Case{
		{Name: "Slice/vectors", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Slice(b, x[0], 1, 4) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return cut(v[0], 3, 1, 4) }},
		{Name: "Slice/matrices", Floats: [][]int{{2, 3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Slice(b, x[0], 3, 8) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return cut(v[0], 2, 3, 8) }},
		{Name: "Slice/all of it", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Slice(b, x[0], 0, 5) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return v[0] }},
		// The gradients of overlapping slices are added into one tensor.
		{Name: "Slice/three of one", Floats: [][]int{{3, 6}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.Add(shape.Slice(b, x[0], 0, 3), shape.Slice(b, x[0], 3, 6), shape.Slice(b, x[0], 2, 5))
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return optest.WantAdd([][]float64{cut(v[0], 3, 0, 3), cut(v[0], 3, 3, 6), cut(v[0], 3, 2, 5)}, nil)
			}},
	}
}

func reshapeCases() []optest.Case {
	same := func(x [][]float64, _ [][]int32) []float64 { return slices.Clone(x[0]) }
	return []optest.Case{
		{Name: "Reshape/matrices", Floats: [][]int{{3, 8}}, Want: same,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Reshape(b, x[0], 2, 4) }},
		{Name: "Reshape/vectors", Floats: [][]int{{3, 2, 5}}, Want: same,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Reshape(b, x[0], 10) }},
	}
}

func TestReshapeRefuses(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	shape.Reshape(b, b.Input("x", tensor.Float32, 3, 8), 3, 3)
	assert.ErrorContains(t, b.Err(), "want [tokens, ...] of 9 entries each for the axes (3, 3), got shape (3, 8)")
}

func wantCopies(x []float64, tokens, n int) []float64 {
	var h []float64
	d := len(x) / tokens
	for t := range tokens {
		for range n {
			h = append(h, x[t*d:(t+1)*d]...)
		}
	}
	return h
}

func wantSumCopies(h []float64, tokens, n int) []float64 {
	d := len(h) / tokens / n
	y := make([]float64, tokens*d)
	for i, v := range h {
		y[i/(n*d)*d+i%d] += v
	}
	return y
}

func copiesCases() []optest.Case {
	return []optest.Case{
		{Name: "Copies/vectors", Floats: [][]int{{3, 5}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Copies(b, x[0], 4) },
			Want: func(x [][]float64, _ [][]int32) []float64 { return wantCopies(x[0], 3, 4) }},
		{Name: "Copies/one", Floats: [][]int{{1, 1}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.Copies(b, x[0], 1) },
			Want: func(x [][]float64, _ [][]int32) []float64 { return x[0] }},
		{Name: "SumCopies/vectors", Floats: [][]int{{3, 4, 5}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.SumCopies(b, x[0]) },
			Want: func(x [][]float64, _ [][]int32) []float64 { return wantSumCopies(x[0], 3, 4) }},
		{Name: "SumCopies/matrices", Floats: [][]int{{2, 3, 5, 2}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return shape.SumCopies(b, x[0]) },
			Want: func(x [][]float64, _ [][]int32) []float64 { return wantSumCopies(x[0], 2, 3) }},
		{Name: "Copies/both ways and read elsewhere", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				h := shape.Copies(b, x[0], 3)
				return b.Add(shape.SumCopies(b, h), shape.SumCopies(b, elementwise.Scale(b, h, 2)), x[0])
			},
			Want: func(x [][]float64, _ [][]int32) []float64 { return optest.WantScale(x[0], 10) }},
	}
}

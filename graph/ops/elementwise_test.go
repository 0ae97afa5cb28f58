package ops_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

func elementwiseCases() []optest.Case {
	gelu := func(exact bool, shape ...int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("Gelu/exact=%t %v", exact, shape), Floats: [][]int{shape},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Gelu(b, x[0], exact) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantGelu(x[0], exact) }}
	}
	return []optest.Case{
		{Name: "ReLUSquared", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.Activate(b, x[0], kernel.ReLUSquared)
			},
			Want: func(x [][]float64, _ [][]int32) []float64 { return wantReLUSquared(x[0]) }},
		{Name: "ReLU", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.Activate(b, x[0], kernel.ReLU)
			},
			Want: func(x [][]float64, _ [][]int32) []float64 { return wantReLU(x[0]) }},
		{Name: "SwiGLU", Floats: [][]int{{3, 2, 5}, {3, 2, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.SwiGLU(b, x[0], x[1]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantSwiGLU(x[0], x[1]) }},
		{Name: "SwiGLU/of one", Floats: [][]int{{1, 1}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.SwiGLU(b, x[0], x[0]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantSwiGLU(x[0], x[0]) }},
		gelu(false, 3, 5), gelu(true, 3, 5), gelu(false, 1, 1), gelu(true, 2, 3, 7),
		{Name: "SoftCap", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.SoftCap(b, x[0], 1.3) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantSoftCap(x[0], 1.3) }},
		{Name: "Scale", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Scale(b, x[0], -0.3) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantScale(x[0], -0.3) }},
		{Name: "Dropout", Floats: [][]int{{7, 5}}, Training: true,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Dropout(b, x[0], 0.3) }},
	}
}

func wantReLUSquared(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0) * max(v, 0)
	}
	return y
}

func wantReLU(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0)
	}
	return y
}

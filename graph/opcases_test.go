package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of the ops that this package defines itself.
func cases() []optest.Case {
	add := func(n int, shape ...int) optest.Case {
		c := optest.Case{Name: fmt.Sprintf("Add/%d of %v", n, shape), Want: optest.WantAdd,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(x...) }}
		for range n {
			c.Floats = append(c.Floats, shape)
		}
		return c
	}
	return []optest.Case{
		add(1, 3, 5), add(2, 2, 3, 5), add(3, 1, 1), add(7, 3, 5),
		{Name: "Add/one node twice", Floats: [][]int{{3, 5}, {3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Add(x[0], x[1], x[0]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return optest.WantAdd([][]float64{x[0], x[1], x[0]}, nil) }},
		{Name: "Hook", Floats: [][]int{{3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Hook("hooked", x[0]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return x[0] }},
		adapt("one", []int{4, 5}, graph.Adapter{Width: 5, Rank: 2, Scale: 0.5}),
		adapt("two of three parts", []int{3, 9}, graph.Adapter{From: 1, Width: 3, Rank: 2, Scale: 2}, graph.Adapter{From: 4, Width: 4, Rank: 1, Scale: 3}),
	}
}

// adapt is a weight with adapters; x are W, and A and B of each.
func adapt(name string, shape []int, adapters ...graph.Adapter) optest.Case {
	c := optest.Case{Name: "Adapt/" + name, Floats: [][]int{shape},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Adapt(adapters, x...) },
		Want: func(x [][]float64, _ [][]int32) []float64 {
			w := slices.Clone(x[0])
			for n, a := range adapters {
				for i := range shape[0] {
					for j := range a.Width {
						for r := range a.Rank {
							w[i*shape[1]+a.From+j] += a.Scale * x[1+2*n][i*a.Rank+r] * x[2+2*n][r*a.Width+j]
						}
					}
				}
			}
			return w
		}}
	for _, a := range adapters {
		c.Floats = append(c.Floats, []int{shape[0], a.Rank}, []int{a.Rank, a.Width})
	}
	return c
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "add", "hook", "adapt", "adaptGradA", "adaptGradB")
}

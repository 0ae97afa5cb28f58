package graph_test

import (
	"fmt"
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
	}
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) { optest.Run(t, cases(), "add", "hook") }

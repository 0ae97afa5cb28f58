package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

func normLinearCase(x, w []int, gain bool, o norm.Options) optest.Case {
	c := optest.Case{Name: fmt.Sprintf("NormLinear/%v gain=%t %v %v", o.Params(), gain, x, w), MayBeNil: []int{2}, Floats: [][]int{x, w},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			if len(x) > 2 {
				return norm.Linear(b, x[0], x[2], x[1], o)
			}
			return norm.Linear(b, x[0], nil, x[1], o)
		},
		Want: func(v [][]float64, _ [][]int32) []float64 {
			ones := wantOnes(w[0])
			if len(v) > 2 {
				ones = v[2]
			}
			return optest.WantLinear([][]float64{optest.WantNorm([][]float64{v[0], ones}, o), v[1]}, w[0], w[1], linear.Options{})
		}}
	if gain {
		c.Floats = append(c.Floats, w[:1])
	}
	return c
}

func normLinearCases() []optest.Case {
	var cases []optest.Case
	for _, o := range []norm.Options{{}, {RMS: true}, {Eps: 1e-2}} {
		for _, gain := range []bool{false, true} {
			cases = append(cases, normLinearCase([]int{3, 4, 5}, []int{5, 6}, gain, o), normLinearCase([]int{3, 2, 5}, []int{10, 3}, gain, o),
				normLinearCase([]int{1, 3}, []int{3, 1}, gain, o), normLinearCase([]int{67, 7}, []int{7, 2}, gain, o))
		}
	}
	return cases
}

// TestNormLinearAddsToAnotherGradient reads x twice, so that one gradient is added to the other.
func TestNormLinearAddsToAnotherGradient(t *testing.T) {
	for _, gain := range []bool{false, true} {
		c := normLinearCase([]int{3, 2, 5}, []int{5, 6}, gain, norm.Options{})
		one := c.Build
		c.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			y := one(b, x, ids)
			return b.Add(norm.Linear(b, x[0], nil, x[1], norm.Options{RMS: true}), y)
		}
		m := optest.NewProgram(t, c, graph.NewStore(tensor.Float64, 3), graph.ProgramOptions{})
		optest.CheckGradients(t, c, m)
	}
}

func wantOnes(n int) []float64 {
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

func TestNormLinearErrors(t *testing.T) {
	node := func(b *graph.Builder, name string, shape ...int) *gorgonia.Node {
		return b.Input(name, tensor.Float32, shape...)
	}
	for want, build := range map[string]func(b *graph.Builder) *gorgonia.Node{
		"w: want shape [width, K], got (4, 2, 3)": func(b *graph.Builder) *gorgonia.Node {
			return norm.Linear(b, node(b, "x", 5, 4), nil, node(b, "w", 4, 2, 3), norm.Options{})
		},
		"x: want shape [tokens, ...] with rows of 4 entries for w (4, 3), got (5, 6)": func(b *graph.Builder) *gorgonia.Node {
			return norm.Linear(b, node(b, "x", 5, 6), nil, node(b, "w", 4, 3), norm.Options{})
		},
		"gain: want shape (4) for w (4, 3), got (2, 2)": func(b *graph.Builder) *gorgonia.Node {
			return norm.Linear(b, node(b, "x", 5, 4), node(b, "gain", 2, 2), node(b, "w", 4, 3), norm.Options{})
		},
		"groups: want 0, got 2": func(b *graph.Builder) *gorgonia.Node {
			return norm.Linear(b, node(b, "x", 5, 4), nil, node(b, "w", 4, 3), norm.Options{Groups: 2})
		},
		"bias: want none": func(b *graph.Builder) *gorgonia.Node {
			return norm.Linear(b, node(b, "x", 5, 4), nil, node(b, "w", 4, 3), norm.Options{Bias: node(b, "bias", 4)})
		},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, build(b))
		optest.RequireLine(t, b.Err(), want)
	}
}

// Package optest checks ops, from this module or another: it runs a table of cases through all
// checks that every op must pass.
package optest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// Case is one op with one set of options: a row of its package's table of cases.
type Case struct {
	Name   string
	Floats [][]int // shapes of the float inputs, all differentiable
	Ints   []IntInput
	Build  func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node
	// Want computes the op's equation by plain loops; nil for an op that draws random numbers.
	Want       func(x [][]float64, ids [][]int32) []float64
	MayBeNil   []int // numbers of the inputs that may be nil, floats counted before ids
	NoGradient bool
	Training   bool
	addFirst   bool // a stock Add reads the output before the stock Reshape does
}

// IntInput describes an Int32 input: its shape and how entry i is drawn.
type IntInput struct {
	Shape []int
	Draw  func(r *rand.Rand, i int) int32
}

func Below(n int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, _ int) int32 { return int32(r.IntN(n)) }
}

// BelowOrIgnored draws targets below n, some of them negative, but not the first.
func BelowOrIgnored(n int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, i int) int32 {
		if i > 0 && r.IntN(3) == 0 {
			return -1
		}
		return int32(r.IntN(n))
	}
}

// StartsOf draws a document start for each token of rows of seq tokens.
func StartsOf(seq int) func(*rand.Rand, int) int32 {
	return func(r *rand.Rand, i int) int32 { return int32(r.IntN(i%seq + 1)) }
}

// param makes the parameter that stands for a float input.
func (c Case) param(b *graph.Builder, i int) *gorgonia.Node {
	return b.Param(graph.ParamSpec{Name: fmt.Sprintf("x%d", i), Shape: c.Floats[i], Init: graph.Normal(1)})
}

// intInputs makes the case's Int32 inputs.
func (c Case) intInputs(b *graph.Builder) (ids gorgonia.Nodes) {
	for i, in := range c.Ints {
		ids = append(ids, b.Input(fmt.Sprintf("ids%d", i), tensor.Int32, in.Shape...))
	}
	return ids
}

// Options returns the builder's options for a case.
func (c Case) Options(dt tensor.Dtype) graph.Options {
	return graph.Options{Threads: 2, DType: dt, Training: c.Training, Seed: 7, Hooks: graph.Hooks{"hooked": nil}}
}

// Run checks for every case what must hold for every op: its equation, its gradients by finite
// differences, stock nodes around it, no allocation, and the errors for bad inputs. primitives are
// names of Primitives' types or of formulas that must occur among the nodes of the cases' graphs,
// so that none is left unchecked.
func Run(t *testing.T, cases []Case, primitives ...string) {
	var seen []string
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Run("forward", c.forward)
			t.Run("gradients", c.gradients)
			t.Run("stock nodes", c.stockNodes)
			t.Run("allocations", func(t *testing.T) { seen = append(seen, c.allocations(t)...) })
			t.Run("bad inputs", c.badInputs)
			t.Run("errors stick", c.errorsStick)
		})
	}
	for _, name := range primitives {
		require.Contains(t, seen, name, "not among the ops")
	}
}

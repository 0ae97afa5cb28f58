package graph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestDoAllocatesNothing runs each op, and each op of its backward pass, on its own: once
// warm, Do allocates nothing.
func TestDoAllocatesNothing(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range opCases() {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			t.Run(fmt.Sprintf("%s/%v", c.name, dt), func(t *testing.T) {
				p := newBareProgram(t, c, ProgramOptions{Options: c.options(dt), Separate: true})
				for _, n := range p.plan.order {
					if op := opOf(n); op != nil {
						checkAllocations(t, n)
						seen[fmt.Sprintf("%T", op.Primitive)] = true
					}
				}
			})
		}
	}
	for _, k := range []Primitive{attentionGrad{}, normGrad{}, normReadGrad{}, keysGrad{}, writeGrad{}, linearGradX{}, linearGradW{}, embeddingGrad{},
		geluGrad{}, linearGelu{}, activated{}, linearGradGelu{}, sumTokens{}, secondaryOutput{}, unit{},
		sigmoidGrad{}, gluGrad{}, sliceGrad{}, lstmOutput{}, lstmOutputGrad{}, lstmCellGrad{}, lstmGateGrad{},
		mixReadGrad{}, mixWriteGrad{}} {
		require.True(t, seen[fmt.Sprintf("%T", k)], "%T was not among the ops", k)
	}
}

func checkAllocations(t *testing.T, n *gorgonia.Node) {
	t.Helper()
	op := opOf(n)
	var values []gorgonia.Value
	for _, c := range Inputs(n) {
		values = append(values, c.Value())
	}
	run := func() {
		_, err := op.Do(values...)
		require.NoError(t, err)
	}
	run()
	allocations := testing.AllocsPerRun(10, func() {
		if _, err := op.Do(values...); err != nil {
			panic(err)
		}
	})
	require.Zero(t, allocations, "%s", op.Primitive)
}

// newBareProgram compiles a case's op alone: its inputs are parameters, its loss is our
// own, so that all nodes but the inputs are ours.
func newBareProgram(t *testing.T, c opCase, o ProgramOptions) *Program {
	t.Helper()
	o.Gradients = !c.noGradient
	p, err := Compile(o, func(b *Builder) (Roots, error) {
		var x, ids gorgonia.Nodes
		for i, shape := range c.floats {
			x = append(x, b.Param(ParamSpec{Name: fmt.Sprintf("x%d", i), Shape: shape, Init: Normal(1)}))
		}
		for i, in := range c.ints {
			ids = append(ids, b.Input(fmt.Sprintf("ids%d", i), tensor.Int32, in.shape...))
		}
		y := c.build(b, x, ids)
		if c.noGradient || b.Err() != nil {
			return Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
		}
		if y.IsScalar() {
			return Roots{Loss: b.Scale(y, 0.5)}, nil
		}
		y = b.Linear(y, b.Param(ParamSpec{Name: "w", Shape: []int{product(y.Shape()[1:]), 2}, Init: Normal(1)}), LinearOptions{})
		unembedding := b.Param(ParamSpec{Name: "unembedding", Shape: []int{2, 3}, Init: Normal(1)})
		return Roots{Loss: b.CrossEntropy(y, unembedding, b.Input("targets", tensor.Int32, y.Shape()[0]), LossOptions{})}, nil
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	require.NoError(t, p.Run(RunOptions{}))
	return p
}

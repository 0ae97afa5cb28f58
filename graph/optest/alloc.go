package optest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// allocations checks that the op, and each op of its backward pass, allocates nothing in Do after a
// first call. It returns the Primitives' type names, and their names without parameters.
func (c Case) allocations(t *testing.T) (seen []string) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		t.Run(dt.String(), func(t *testing.T) {
			p := newBareProgram(t, c, graph.ProgramOptions{Options: c.Options(dt), Separate: true})
			for _, n := range p.Builder().Graph().AllNodes() {
				if op, ok := n.Op().(*graph.Op); ok {
					checkAllocations(t, n, op)
					name := fmt.Sprintf("%T", op.Primitive)
					kind, _, _ := strings.Cut(op.Primitive.String(), "(")
					seen = append(seen, name[strings.LastIndex(name, ".")+1:], kind)
				}
			}
		})
	}
	return seen
}

func checkAllocations(t *testing.T, n *gorgonia.Node, op *graph.Op) {
	t.Helper()
	var values []gorgonia.Value
	for _, c := range graph.Inputs(n) {
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

// newBareProgram compiles a case's op without stock nodes: its inputs are parameters, and its loss
// is one of our ops.
func newBareProgram(t *testing.T, c Case, o graph.ProgramOptions) *graph.Program {
	t.Helper()
	o.Gradients = !c.NoGradient
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		var x gorgonia.Nodes
		for i := range c.Floats {
			x = append(x, c.param(b, i))
		}
		y := c.Build(b, x, c.intInputs(b))
		if c.NoGradient || b.Err() != nil {
			return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
		}
		return graph.Roots{Loss: b.Apply(weightedLoss{drawn(graph.SignatureOf(y).Size())}, b.Add(y, y))}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	require.NoError(t, p.Run(graph.RunOptions{}))
	return p
}

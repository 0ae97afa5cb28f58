package optest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// RequireLine checks that an error is one line that contains the given parts.
func RequireLine(t *testing.T, err error, parts ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "runtime error")
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
}

// badInputs passes to the op, for each of its inputs, a nil node, a node of another graph and a
// node of another type.
func (c Case) badInputs(t *testing.T) {
	for i := range len(c.Floats) + len(c.Ints) {
		if !slices.Contains(c.MayBeNil, i) {
			RequireLine(t, c.buildWith(i, func(*graph.Builder, *gorgonia.Node) *gorgonia.Node { return nil }), "graph: ", "want a node, got nil")
		}
		RequireLine(t, c.buildWith(i, func(_ *graph.Builder, n *gorgonia.Node) *gorgonia.Node {
			return gorgonia.NewTensor(gorgonia.NewGraph(), n.Dtype(), n.Dims(), gorgonia.WithShape(n.Shape()...), gorgonia.WithName("stranger"))
		}), "stranger", "another graph")
		RequireLine(t, c.buildWith(i, func(b *graph.Builder, n *gorgonia.Node) *gorgonia.Node {
			dt := tensor.Int32
			if n.Dtype() == dt {
				dt = tensor.Float32
			}
			return b.Input("odd type", dt, n.Shape()...)
		}), "graph: ", "want")
	}
}

// errorsStick checks that a builder that has failed makes no more nodes and keeps its error.
func (c Case) errorsStick(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Hooks: graph.Hooks{"hooked": nil}, Training: true})
	x := b.Input("x", tensor.Float32, 3, 5)
	first := errors.New("first")
	b.Fail(first)
	nodes := len(b.Graph().AllNodes())
	var floats, ids gorgonia.Nodes
	for range c.Floats {
		floats = append(floats, x)
	}
	for range c.Ints {
		ids = append(ids, nil)
	}
	if n := c.Build(b, floats, ids); n != x { // a Hook that is not hooked and a Dropout that is off return x
		require.Nil(t, n)
	}
	require.Equal(t, first, b.Err())
	require.Len(t, b.Graph().AllNodes(), nodes)
}

// buildWith builds a case's op with input i replaced, and returns the builder's error.
func (c Case) buildWith(i int, replace func(*graph.Builder, *gorgonia.Node) *gorgonia.Node) error {
	b := graph.On(gorgonia.NewGraph(), c.Options(tensor.Float32))
	var all gorgonia.Nodes
	for j, shape := range c.Floats {
		all = append(all, b.Input(fmt.Sprintf("x%d", j), tensor.Float32, shape...))
	}
	all = append(all, c.intInputs(b)...)
	all[i] = replace(b, all[i])
	n := c.Build(b, all[:len(c.Floats)], all[len(c.Floats):])
	if n == nil && b.Err() == nil {
		return fmt.Errorf("no node and no error")
	}
	return b.Err()
}

package graph

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// requireLine checks that an error is one line that contains what it should.
func requireLine(t *testing.T, err error, parts ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "runtime error")
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
}

// mayBeNil tells which inputs of which ops may be nil, floats counted before ids.
func mayBeNil(c opCase, input int) bool {
	op := strings.SplitN(c.name, "/", 2)[0]
	return (op == "Linear" || op == "Norm" || op == "Write" || op == "NormLinear") && input == 2 || op == "NormRead" && input == 3 || op == "CausalAttention" && input == 1
}

// TestBadInputs gives every op, for each of its inputs, nothing, a node of another graph, a
// node of another type and a node of another shape.
func TestBadInputs(t *testing.T) {
	for _, c := range opCases() {
		t.Run(c.name, func(t *testing.T) {
			for i := range len(c.floats) + len(c.ints) {
				if !mayBeNil(c, i) {
					requireLine(t, c.buildWith(i, func(*Builder, *gorgonia.Node) *gorgonia.Node { return nil }), "graph: ", "want a node, got nil")
				}
				requireLine(t, c.buildWith(i, func(_ *Builder, n *gorgonia.Node) *gorgonia.Node {
					return gorgonia.NewTensor(gorgonia.NewGraph(), n.Dtype(), n.Dims(), gorgonia.WithShape(n.Shape()...), gorgonia.WithName("stranger"))
				}), "stranger", "another graph")
				requireLine(t, c.buildWith(i, func(b *Builder, n *gorgonia.Node) *gorgonia.Node {
					dt := tensor.Int32
					if n.Dtype() == dt {
						dt = tensor.Float32
					}
					return b.Input("odd type", dt, n.Shape()...)
				}), "graph: ", "want")
			}
		})
	}
}

// buildWith builds a case's op with input i replaced and returns the builder's error.
func (c opCase) buildWith(i int, replace func(*Builder, *gorgonia.Node) *gorgonia.Node) error {
	b := On(gorgonia.NewGraph(), c.options(tensor.Float32))
	var all gorgonia.Nodes
	for j, shape := range c.floats {
		all = append(all, b.Input(fmt.Sprintf("x%d", j), tensor.Float32, shape...))
	}
	for j, in := range c.ints {
		all = append(all, b.Input(fmt.Sprintf("ids%d", j), tensor.Int32, in.shape...))
	}
	all[i] = replace(b, all[i])
	n := c.build(b, all[:len(c.floats)], all[len(c.floats):])
	if n == nil && b.Err() == nil {
		return fmt.Errorf("no node and no error")
	}
	return b.Err()
}

// TestBadShapes lists the shapes that each op refuses.
func TestBadShapes(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{})
	names := 0
	f := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
	}
	n := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("n%d", names), tensor.Int32, shape...)
	}
	for _, c := range []struct {
		build func(b *Builder) *gorgonia.Node
		want  string
	}{
		{func(b *Builder) *gorgonia.Node { return b.Embedding(f(5), n(3), 1) }, "table: want shape [vocab, ...], got (5)"},
		{func(b *Builder) *gorgonia.Node { return b.Embedding(f(5, 2), f(3), 1) }, "ids: want int32, got float32"},
		{func(b *Builder) *gorgonia.Node { return b.Linear(f(3, 5), f(4, 2), LinearOptions{}) }, "want x [tokens, 4] for a weight of shape (4, 2), got (3, 5)"},
		{func(b *Builder) *gorgonia.Node { return b.Linear(f(3, 5), f(5, 2), LinearOptions{Transposed: true}) }, "want x [tokens, 2]"},
		{func(b *Builder) *gorgonia.Node { return b.Linear(f(5), f(5, 2), LinearOptions{}) }, "got (5)"},
		{func(b *Builder) *gorgonia.Node { return b.Linear(f(3, 5), f(5, 2), LinearOptions{Bias: f(3)}) }, "bias: want 2 entries"},
		{func(b *Builder) *gorgonia.Node { return b.Bias(f(3, 5), f(3)) }, "bias: want 5 entries for x (3, 5), got shape (3)"},
		{func(b *Builder) *gorgonia.Node { return b.LayerNorm(f(3, 5), f(3)) }, "gain: want the last axes of x (3, 5), got shape (3)"},
		{func(b *Builder) *gorgonia.Node { return b.RMSNorm(f(5), f(3, 5)) }, "gain: want the last axes"},
		{func(b *Builder) *gorgonia.Node { return b.Norm(f(3, 5), f(5), NormOptions{Bias: f(3)}) }, "bias: want shape (5) as the gain, got (3)"},
		{func(b *Builder) *gorgonia.Node { return b.Read(f(3, 5), f(2, 5)) }, "stream: want shape [tokens, Dk, Dv], got (3, 5)"},
		{func(b *Builder) *gorgonia.Node { return b.Read(f(3, 5, 7), f(2, 7)) }, "keys: want [..., 5] for a stream (3, 5, 7), got (2, 7)"},
		{func(b *Builder) *gorgonia.Node { return b.Read(f(3, 5, 7), f(5)) }, "keys: want"},
		{func(b *Builder) *gorgonia.Node { return b.Write(nil, f(5), f(3, 10)) }, "keys: want shape [..., Dk], got (5)"},
		{func(b *Builder) *gorgonia.Node { return b.Write(nil, f(3, 5), f(2, 10)) }, "y: want [tokens, 3*Dv] for keys (3, 5), got (2, 10)"},
		{func(b *Builder) *gorgonia.Node { return b.Write(f(3, 5, 4), f(2, 5), f(3, 10)) }, "stream: want (3, 5, 5)"},
		{func(b *Builder) *gorgonia.Node { return b.NormRead(f(3, 5, 7), f(7), f(2, 5), NormOptions{}) }, "gain: want shape (5, 7)"},
		{func(b *Builder) *gorgonia.Node { return b.NormRead(f(3, 35), f(5, 7), f(2, 5), NormOptions{}) }, "stream: want shape"},
		{func(b *Builder) *gorgonia.Node { return b.Add() }, "want at least one input, got none"},
		{func(b *Builder) *gorgonia.Node { return b.Add(f(3, 5), f(5, 3)) }, "input 1: want shape (3, 5) as input 0, got (5, 3)"},
		{func(b *Builder) *gorgonia.Node { return b.CausalAttention(f(4, 12), AttentionOptions{Seq: 4}) }, "with 0 heads"},
		{func(b *Builder) *gorgonia.Node {
			return b.CausalAttention(f(4, 13), AttentionOptions{Heads: 2, Seq: 4})
		}, "want [tokens, 3*heads*Dh] with 2 heads, got (4, 13)"},
		{func(b *Builder) *gorgonia.Node { return b.CausalAttention(f(4, 12), AttentionOptions{Heads: 2}) }, "multiple of seq 0"},
		{func(b *Builder) *gorgonia.Node {
			return b.CausalAttention(f(4, 12), AttentionOptions{Heads: 2, Seq: 3})
		}, "multiple of seq 3 tokens"},
		{func(b *Builder) *gorgonia.Node {
			return b.CausalAttention(f(4, 12), AttentionOptions{Heads: 2, Seq: 4, Slopes: []float64{1}})
		}, "slopes: want 2, one a head, got 1"},
		{func(b *Builder) *gorgonia.Node {
			return b.CausalAttention(f(4, 9), AttentionOptions{Heads: 1, Seq: 4, RopeBase: 10})
		}, "want an even head size, got 3"},
		{func(b *Builder) *gorgonia.Node {
			return b.CausalAttention(f(4, 12), AttentionOptions{Heads: 2, Seq: 4, Starts: n(3)})
		}, "starts: want 4 entries, one a token, got shape (3)"},
		{func(b *Builder) *gorgonia.Node { return b.CrossEntropy(f(3, 5), f(4, 7), n(3), LossOptions{}) }, "features: want [tokens, 4]"},
		{func(b *Builder) *gorgonia.Node { return b.CrossEntropy(f(3, 5), f(5, 7), n(4), LossOptions{}) }, "targets: want 3, one a token, got shape (4)"},
		{func(b *Builder) *gorgonia.Node { return b.TokenLosses(f(3, 5), f(5, 7), f(3), LossOptions{}) }, "targets: want int32"},
		{func(b *Builder) *gorgonia.Node { return b.Positions(n(6)) }, "tokens: want int32 [batch, seq], got int32 (6)"},
		{func(b *Builder) *gorgonia.Node { return b.DocumentStarts(f(2, 3), 0) }, "tokens: want int32 [batch, seq], got float32 (2, 3)"},
		{func(b *Builder) *gorgonia.Node { return b.Dropout(f(2, 3), -0.1) }, "want a rate in [0, 1), got -0.1"},
		{func(b *Builder) *gorgonia.Node { return b.Dropout(f(2, 3), 1) }, "got 1"},
		{func(b *Builder) *gorgonia.Node { return b.Dropout(f(2, 3), math.NaN()) }, "got NaN"},
		{func(b *Builder) *gorgonia.Node { return b.Input("empty", tensor.Float32, 3, 0) }, `input "empty": want at least one axis, each at least 1, got [3 0]`},
		{func(b *Builder) *gorgonia.Node { return b.Input("scalar", tensor.Float32) }, "want at least one axis"},
		{func(b *Builder) *gorgonia.Node { return b.Input("", tensor.Float32, 3) }, "want a name"},
		{func(b *Builder) *gorgonia.Node { return b.Input("f1", tensor.Float32, 9) }, `the name "f1" is taken`},
		{func(b *Builder) *gorgonia.Node { return b.Param(ParamSpec{Name: "f1", Shape: []int{5}}) }, `the name "f1" is taken`},
		{func(b *Builder) *gorgonia.Node { return b.Param(ParamSpec{Name: "p", Shape: []int{-1}}) }, `parameter "p": want at least one axis`},
	} {
		b.err = nil
		require.Nil(t, c.build(b), c.want)
		requireLine(t, b.Err(), c.want)
	}
}

// TestErrorsStick checks that a builder keeps its first error and makes nothing more.
func TestErrorsStick(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Hooks: Hooks{"hooked": nil}, Training: true})
	x := b.Input("x", tensor.Float32, 3, 5)
	require.NoError(t, b.Err())
	require.Nil(t, b.Bias(x, x))
	first := b.Err()
	requireLine(t, first, "graph: Bias: bias: want 5 entries")
	nodes := len(b.Graph().AllNodes())
	for _, c := range opCases() {
		var floats, ids gorgonia.Nodes
		for range c.floats {
			floats = append(floats, x)
		}
		for range c.ints {
			ids = append(ids, nil)
		}
		if n := c.build(b, floats, ids); n != x { // an unhooked Hook and a Dropout that is off return x
			require.Nil(t, n, c.name)
		}
	}
	require.Nil(t, b.Input("y", tensor.Float32, 2))
	require.Nil(t, b.Param(ParamSpec{Name: "p", Shape: []int{2}}))
	b.Fail(fmt.Errorf("later"))
	require.Equal(t, first, b.Err())
	require.Len(t, b.Graph().AllNodes(), nodes)
}

// TestNamesAreTaken checks that names are refused which another builder, or stock code,
// has given in the same graph: Gorgonia would merge the nodes.
func TestNamesAreTaken(t *testing.T) {
	g := gorgonia.NewGraph()
	gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 3), gorgonia.WithName("stock"))
	require.NotNil(t, On(g, Options{}).Input("ours", tensor.Float32, 2, 3))
	for _, name := range []string{"stock", "ours"} {
		b := On(g, Options{})
		require.Nil(t, b.Param(ParamSpec{Name: name, Shape: []int{2, 3}}))
		requireLine(t, b.Err(), "is taken", "name prefix")
	}
}

// TestDoRefusesBadValues gives an op values that a graph would not.
func TestDoRefusesBadValues(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Threads: 1})
	op := opOf(b.Scale(b.Input("x", tensor.Float32, 2, 3), 2))
	loss := opOf(b.Scale(b.CrossEntropy(b.Input("f", tensor.Float32, 2, 3), b.Input("w", tensor.Float32, 3, 2), b.Input("t", tensor.Int32, 2), LossOptions{}), 2))
	require.NoError(t, b.Err())
	one := gorgonia.NewF64(1)
	for _, c := range []struct {
		op     *Op
		values []gorgonia.Value
		want   string
	}{
		{op, nil, "want 1 inputs, got 0"},
		{op, []gorgonia.Value{nil}, "input 0: want float32 (2, 3), got no value: bind one with gorgonia.Let"},
		{op, []gorgonia.Value{tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3))}, "got a tensor of float64"},
		{op, []gorgonia.Value{tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(3, 3))}, "got shape (3, 3)"},
		{op, []gorgonia.Value{one}, "got *gorgonia.F64"},
		{loss, []gorgonia.Value{one}, "want float32 (), got *gorgonia.F64"},
	} {
		value, err := c.op.Do(c.values...)
		require.Nil(t, value)
		requireLine(t, err, "Scale(2): ", c.want)
	}
	value, err := loss.Do(gorgonia.NewF32(3))
	require.NoError(t, err)
	require.Equal(t, []float64{6}, valuesOf(t, value))
	value, err = op.Do(tensor.New(tensor.WithShape(6), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))) // the shape may differ, not the size
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, valuesOf(t, value))
}

// TestBadOptions checks what On refuses.
func TestBadOptions(t *testing.T) {
	requireLine(t, On(nil, Options{}).Err(), "want a graph to build on, got nil")
	requireLine(t, On(gorgonia.NewGraph(), Options{DType: tensor.Int32}).Err(), "want float32 or float64, got int32")
	requireLine(t, On(gorgonia.NewGraph(), Options{Device: "abacus"}).Err(), `want "cpu" or "cuda", got "abacus"`)
	requireLine(t, On(gorgonia.NewGraph(), Options{Store: NewStore(tensor.Float64, 0)}).Err(), "the store holds float64, want float32")
	_, err := NewCache(0, 5)
	requireLine(t, err, "batch 0, capacity 5")
	_, err = NewCache(1, 0)
	requireLine(t, err, "batch 1, capacity 0")
	_, err = Scalar(nil)
	requireLine(t, err, "got nil")
	_, _, err = LossParts(nil)
	requireLine(t, err, "got nil")
	b := On(gorgonia.NewGraph(), Options{})
	x := b.Input("x", tensor.Float32, 3)
	_, err = Scalar(x)
	requireLine(t, err, `"x" has no value`)
	_, _, err = LossParts(x)
	requireLine(t, err, `want a CrossEntropy node, got "x"`)
	requireLine(t, SetFloat64s(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)), []float64{1}), "want 6 values, got 1")
}

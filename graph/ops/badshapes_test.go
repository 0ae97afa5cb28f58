package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
)

// TestBadShapes checks that each op refuses wrong shapes.
func TestBadShapes(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
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
		build func(b *graph.Builder) *gorgonia.Node
		want  string
	}{
		{func(b *graph.Builder) *gorgonia.Node { return embedding.Gather(b, f(5), n(3), 1) }, "table: want shape [vocab, ...], got (5)"},
		{func(b *graph.Builder) *gorgonia.Node { return embedding.Gather(b, f(5, 2), f(3), 1) }, "input 1: want int32, got float32"},
		{func(b *graph.Builder) *gorgonia.Node { return linear.Map(b, f(3, 5), f(4, 2), linear.Options{}) }, "want x [tokens, 4] for a weight of shape (4, 2), got (3, 5)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return linear.Map(b, f(3, 5), f(5, 2), linear.Options{Transposed: true})
		}, "want x [tokens, 2]"},
		{func(b *graph.Builder) *gorgonia.Node { return linear.Map(b, f(5), f(5, 2), linear.Options{}) }, "got (5)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return linear.Map(b, f(3, 5), f(5, 2), linear.Options{Bias: f(3)})
		}, "bias: want 2 entries"},
		{func(b *graph.Builder) *gorgonia.Node { return linear.Bias(b, f(3, 5), f(3)) }, "bias: want 5 entries for x (3, 5), got shape (3)"},
		{func(b *graph.Builder) *gorgonia.Node { return norm.Apply(b, f(3, 5), f(3), norm.Options{}) }, "gain: want the last axes of x (3, 5), got shape (3)"},
		{func(b *graph.Builder) *gorgonia.Node { return norm.Apply(b, f(5), f(3, 5), norm.Options{RMS: true}) }, "gain: want the last axes"},
		{func(b *graph.Builder) *gorgonia.Node { return norm.Apply(b, f(3, 5), f(5), norm.Options{Bias: f(3)}) }, "bias: want shape (5) as the gain, got (3)"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Read(b, f(3, 5), f(2, 5)) }, "stream: want shape [tokens, Dk, Dv], got (3, 5)"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Read(b, f(3, 5, 7), f(2, 7)) }, "keys: want [..., 5] for a stream (3, 5, 7), got (2, 7)"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Read(b, f(3, 5, 7), f(5)) }, "keys: want"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Write(b, nil, f(5), f(3, 10)) }, "keys: want shape [..., Dk], got (5)"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Write(b, nil, f(3, 5), f(2, 10)) }, "y: want [tokens, 3*Dv] for keys (3, 5), got (2, 10)"},
		{func(b *graph.Builder) *gorgonia.Node { return readwrite.Write(b, f(3, 5, 4), f(2, 5), f(3, 10)) }, "stream: want (3, 5, 5)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return readwrite.NormRead(b, f(3, 5, 7), f(7), f(2, 5), norm.Options{})
		}, "gain: want shape (5, 7)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return readwrite.NormRead(b, f(3, 35), f(5, 7), f(2, 5), norm.Options{})
		}, "stream: want shape"},
		{func(b *graph.Builder) *gorgonia.Node { return b.Add() }, "want at least one input, got none"},
		{func(b *graph.Builder) *gorgonia.Node { return b.Add(f(3, 5), f(5, 3)) }, "input 1: want shape (3, 5) as input 0, got (5, 3)"},
		{func(b *graph.Builder) *gorgonia.Node { return attention.Causal(b, f(4, 12), attention.Options{Seq: 4}) }, "heads: want at least 1"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 13), attention.Options{Heads: 2, Seq: 4})
		}, "want [tokens, (heads+2*kv_heads)*Dh] with 2 heads of queries and 2 of keys and values, got (4, 13)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 12), attention.Options{Heads: 2})
		}, "multiple of seq 0"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 12), attention.Options{Heads: 2, Seq: 3})
		}, "multiple of seq 3 tokens"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 12), attention.Options{Heads: 2, Seq: 4, Slopes: []float64{1}})
		}, "slopes: want 2, one a head, got 1"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 9), attention.Options{Heads: 1, Seq: 4, RopeBase: 10})
		}, "want an even head dimension, got 3"},
		{func(b *graph.Builder) *gorgonia.Node {
			return attention.Causal(b, f(4, 12), attention.Options{Heads: 2, Seq: 4, Starts: n(3)})
		}, "starts: want 4 entries, one a token, got shape (3)"},
		{func(b *graph.Builder) *gorgonia.Node {
			return loss.CrossEntropy(b, f(3, 5), f(4, 7), n(3), loss.Options{})
		}, "features: want [tokens, 4]"},
		{func(b *graph.Builder) *gorgonia.Node {
			return loss.CrossEntropy(b, f(3, 5), f(5, 7), n(4), loss.Options{})
		}, "targets: want 3, one a token, got shape (4)"},
		{func(b *graph.Builder) *gorgonia.Node { return loss.Tokens(b, f(3, 5), f(5, 7), f(3), loss.Options{}) }, "input 2: want int32"},
		{func(b *graph.Builder) *gorgonia.Node { return attention.Positions(b, n(6)) }, "tokens: want [batch, seq], got int32 (6)"},
		{func(b *graph.Builder) *gorgonia.Node { return attention.DocumentStarts(b, f(2, 3), 0, 0) }, "input 0: want int32, got float32"},
		{func(b *graph.Builder) *gorgonia.Node { return elementwise.Dropout(b, f(2, 3), -0.1) }, "want a rate in [0, 1), got -0.1"},
		{func(b *graph.Builder) *gorgonia.Node { return elementwise.Dropout(b, f(2, 3), 1) }, "got 1"},
		{func(b *graph.Builder) *gorgonia.Node { return elementwise.Dropout(b, f(2, 3), math.NaN()) }, "got NaN"},
		{func(b *graph.Builder) *gorgonia.Node { return b.Input("empty", tensor.Float32, 3, 0) }, `input "empty": want at least one axis, each at least 1, got [3 0]`},
		{func(b *graph.Builder) *gorgonia.Node { return b.Input("scalar", tensor.Float32) }, "want at least one axis"},
		{func(b *graph.Builder) *gorgonia.Node { return b.Input("", tensor.Float32, 3) }, "want a name"},
		{func(b *graph.Builder) *gorgonia.Node {
			b.Input("f1", tensor.Float32, 9)
			return b.Input("f1", tensor.Float32, 9)
		}, `the name "f1" is taken`},
		{func(b *graph.Builder) *gorgonia.Node {
			b.Input("f1", tensor.Float32, 9)
			return b.Param(graph.ParamSpec{Name: "f1", Shape: []int{5}})
		}, `the name "f1" is taken`},
		{func(b *graph.Builder) *gorgonia.Node { return b.Param(graph.ParamSpec{Name: "p", Shape: []int{-1}}) }, `parameter "p": want at least one axis`},
	} {
		b = graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, c.build(b), c.want)
		optest.RequireLine(t, b.Err(), c.want)
	}
}

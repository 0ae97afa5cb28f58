package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/optest"
)

// deltaWriteOptions have an eps large enough to matter.
var deltaWriteOptions = delta.WriteOptions{Eps: 0.3, Scale: 4}

func deltaWriteCases() []optest.Case {
	var cases []optest.Case
	for _, x := range [][]int{{3, 2, 5}, {1, 1, 3}, {4, 7}, {5, 4, 8}, {2, 9, 33}, {3, 32, 4}} {
		n := 1
		if len(x) == 3 {
			n = x[1]
		}
		d := x[len(x)-1]
		cases = append(cases, optest.Case{
			Name: fmt.Sprintf("DeltaWrite/%v", x), Floats: [][]int{x, {x[0], d}, {x[0], 1}, {x[0], n}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return delta.Write(b, x[0], x[1], x[2], x[3], deltaWriteOptions)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 { return wantDeltaWrite(v[0], v[1], v[2], v[3], n, d) },
		})
	}
	return cases
}

// wantDeltaWrite computes the delta rule by plain loops.
func wantDeltaWrite(x, y, gate, values []float64, n, d int) []float64 {
	out := make([]float64, len(x))
	for t := range gate {
		squares := deltaWriteOptions.Eps * deltaWriteOptions.Eps
		for j := range d {
			squares += y[t*d+j] * y[t*d+j]
		}
		for c := range n {
			product := 0.0
			for j := range d {
				product += y[t*d+j] / math.Sqrt(squares) * x[(t*n+c)*d+j]
			}
			for j := range d {
				at := (t*n+c)*d + j
				out[at] = x[at] + 2*gate[t]*(deltaWriteOptions.Scale*values[t*n+c]-product)*y[t*d+j]/math.Sqrt(squares)
			}
		}
	}
	return out
}

// TestDeltaWriteReflects: without values, a gate of 1 reflects each row along k, and a gate of 1/2
// removes its component along k.
func TestDeltaWriteReflects(t *testing.T) {
	for gate, want := range map[float64][]float64{0: {3, 4}, 0.5: {0, 4}, 1: {-3, 4}} {
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{DType: tensor.Float64}}, func(b *graph.Builder) (graph.Roots, error) {
			in := func(name string, shape ...int) *gorgonia.Node { return b.Input(name, tensor.Float64, shape...) }
			x := delta.Write(b, in("x", 1, 2), in("y", 1, 2), in("gate", 1, 1), in("values", 1, 1), delta.WriteOptions{Scale: 4})
			return graph.Roots{Outputs: gorgonia.Nodes{x}}, b.Err()
		})
		require.NoError(t, err)
		defer p.Close()
		copy(p.Input("x").Float64s(), []float64{3, 4})
		copy(p.Input("y").Float64s(), []float64{7, 0})
		p.Input("gate").Float64s()[0] = gate
		require.NoError(t, p.Run(graph.RunOptions{}))
		got, err := graph.Value(p.Roots().Outputs[0])
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got.Float64s(), 1e-12)
	}
}

// TestDeltaShapes checks that the ops refuse wrong shapes.
func TestDeltaShapes(t *testing.T) {
	names := 0
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	f := func(shape ...int) *gorgonia.Node {
		names++
		return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
	}
	write := func(x, y, gate, values *gorgonia.Node) func() *gorgonia.Node {
		return func() *gorgonia.Node { return delta.Write(b, x, y, gate, values, delta.WriteOptions{}) }
	}
	read := func(x, r *gorgonia.Node, o delta.ReadOptions) func() *gorgonia.Node {
		return func() *gorgonia.Node { return delta.Read(b, x, r, o) }
	}
	for want, build := range map[string]func() func() *gorgonia.Node{
		"values: want shape (3, n), n a divisor of the 10 entries of a token's x (3, 10), got (3, 4)": func() func() *gorgonia.Node {
			return write(f(3, 10), f(3, 10), f(3, 1), f(3, 4))
		},
		"y: want 3 tokens of 5 entries for x (3, 2, 5) and 2 values, got shape (3, 10)": func() func() *gorgonia.Node {
			return write(f(3, 2, 5), f(3, 10), f(3, 1), f(3, 2))
		},
		"gate: want 3 entries, one a token, got shape (3, 2)": func() func() *gorgonia.Node {
			return write(f(3, 2, 5), f(3, 5), f(3, 2), f(3, 2))
		},
		"x: want shape [tokens, n, D], got (3, 10)":                 func() func() *gorgonia.Node { return read(f(3, 10), f(2), delta.ReadOptions{Seq: 3}) },
		"x: want a multiple of seq 2 tokens, got (3, 2, 5)":         func() func() *gorgonia.Node { return read(f(3, 2, 5), f(2), delta.ReadOptions{Seq: 2}) },
		"r: want shape (2), an entry a row of x (3, 2, 5), got (3)": func() func() *gorgonia.Node { return read(f(3, 2, 5), f(3), delta.ReadOptions{Seq: 3}) },
		"filter: want shape [taps, 2, 5] for x (3, 2, 5), got (4, 3)": func() func() *gorgonia.Node {
			return read(f(3, 2, 5), f(2), delta.ReadOptions{Seq: 3, Filter: f(4, 3)})
		},
	} {
		b = graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, build()(), want)
		optest.RequireLine(t, b.Err(), want)
	}
}

//go:build cuda

package graph_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// stockOps lists Gorgonia's ops on single elements. Each reads the input x, or x and y.
func stockOps() map[string]func(input func(string) *gorgonia.Node) (*gorgonia.Node, error) {
	ops := map[string]func(func(string) *gorgonia.Node) (*gorgonia.Node, error){}
	for name, op := range map[string]func(a, b *gorgonia.Node) (*gorgonia.Node, error){
		"add": gorgonia.Add, "sub": gorgonia.Sub, "mul": gorgonia.HadamardProd, "div": gorgonia.HadamardDiv, "pow": gorgonia.Pow,
	} {
		ops[name] = func(input func(string) *gorgonia.Node) (*gorgonia.Node, error) { return op(input("x"), input("y")) }
	}
	number := func(like *gorgonia.Node) *gorgonia.Node {
		if like.Dtype() == tensor.Float64 {
			return gorgonia.NewConstant(3.0)
		}
		return gorgonia.NewConstant(float32(3))
	}
	for name, op := range map[string]func(*gorgonia.Node) (*gorgonia.Node, error){
		"times a number": func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Mul(x, number(x)) },
		"a number minus": func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Sub(number(x), x) },
		"abs":            gorgonia.Abs, "sign": gorgonia.Sign, "ceil": gorgonia.Ceil, "floor": gorgonia.Floor, "sin": gorgonia.Sin, "cos": gorgonia.Cos, "exp": gorgonia.Exp,
		"ln": gorgonia.Log, "log2": gorgonia.Log2, "neg": gorgonia.Neg, "square": gorgonia.Square, "sqrt": gorgonia.Sqrt, "inv": gorgonia.Inverse,
		"invSqrt": gorgonia.InverseSqrt, "cube": gorgonia.Cube, "tanh": gorgonia.Tanh, "sigmoid": gorgonia.Sigmoid, "log1p": gorgonia.Log1p, "expm1": gorgonia.Expm1,
		"softplus": gorgonia.Softplus,
	} {
		ops[name] = func(input func(string) *gorgonia.Node) (*gorgonia.Node, error) { return op(input("x")) }
	}
	return ops
}

// TestStockOpsOnTheDevice: an op of Gorgonia's between two of ours computes on the GPU what it
// computes in a program whose other ops run on the CPU. In this build the GPU runs it there, too.
func TestStockOpsOnTheDevice(t *testing.T) {
	values := map[string][]float64{"x": {0.25, 0.5, 1, 1.5, 2, 3}, "y": {1, 2, 0.5, 3, 1.5, 2}}
	run := func(t *testing.T, op func(func(string) *gorgonia.Node) (*gorgonia.Node, error), device graph.Device, dt tensor.Dtype) (got []float64) {
		store := graph.NewStore(dt, 1)
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Device: device, DType: dt, Store: store}}, func(b *graph.Builder) (graph.Roots, error) {
			n, err := op(func(name string) *gorgonia.Node { return elementwise.Scale(b, b.Input(name, dt, 2, 3), 2) })
			if err != nil {
				return graph.Roots{}, err
			}
			return graph.Roots{Outputs: gorgonia.Nodes{elementwise.Scale(b, n, 2)}}, b.Err()
		})
		require.NoError(t, err)
		defer func() {
			p.Close()
			require.NoError(t, store.Close())
		}()
		for name, x := range values {
			if in := p.Input(name); in != nil {
				for i, v := range x {
					in.Set(i, map[tensor.Dtype]any{tensor.Float32: float32(v), tensor.Float64: v}[dt])
				}
			}
		}
		require.NoError(t, p.Run(graph.RunOptions{}))
		value, err := graph.Value(p.Roots().Outputs[0])
		require.NoError(t, err)
		if dt == tensor.Float64 {
			return slices.Clone(value.Float64s())
		}
		for _, v := range value.Float32s() {
			got = append(got, float64(v))
		}
		return got
	}
	for name, op := range stockOps() {
		t.Run(name, func(t *testing.T) {
			want := run(t, op, graph.CPU, tensor.Float64)
			for _, device := range []graph.Device{graph.CPU, graph.CUDA} {
				for i, got := range run(t, op, device, tensor.Float32) {
					assert.InDelta(t, want[i], got, 1e-6*(1+math.Abs(want[i])), device)
				}
			}
		})
	}
}

package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// tolerance is how far a float64 graph may be from the equations, for values of order 1.
const tolerance = 1e-12

// noise returns n values from N(0, 1) that depend only on the seed.
func noise(seed uint64, n int) []float64 {
	draw := rand.New(rand.NewPCG(seed, 0))
	values := make([]float64, n)
	for i := range values {
		values[i] = draw.NormFloat64()
	}
	return values
}

// evaluation is a float64 program with one output.
type evaluation struct {
	*graph.Program
	t      *testing.T
	output *gorgonia.Node
}

// compile makes a program for the node that build returns and fills its parameters with noise.
func compile(t *testing.T, hooks graph.Hooks, build func(b *graph.Builder) *gorgonia.Node) *evaluation {
	t.Helper()
	e := &evaluation{t: t}
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{DType: tensor.Float64, Threads: 1, Hooks: hooks}},
		func(b *graph.Builder) (graph.Roots, error) {
			e.output = build(b)
			return graph.Roots{Outputs: gorgonia.Nodes{e.output}}, b.Err()
		})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	e.Program = p
	for i, param := range p.Store().Params() {
		require.NoError(t, graph.SetFloat64s(param.Value, noise(uint64(100+i), param.Size())))
	}
	return e
}

// param returns a parameter's values.
func (e *evaluation) param(name string) []float64 {
	require.NotNil(e.t, e.Store().Param(name), name)
	return e.Store().Param(name).Value.Float64s()
}

// on sets float inputs, runs, and returns the output.
func (e *evaluation) on(inputs map[string][]float64) []float64 {
	e.t.Helper()
	for name, values := range inputs {
		require.NoError(e.t, graph.SetFloat64s(e.Input(name), values))
	}
	require.NoError(e.t, e.Run(graph.RunOptions{}))
	if x, ok := e.output.Value().(*tensor.Dense); ok {
		return graph.Float64s(x)
	}
	value, err := graph.Scalar(e.output)
	require.NoError(e.t, err)
	return []float64{value}
}

// product returns x [rows, in] times w [in, out].
func product(x, w []float64, in, out int) []float64 {
	y := make([]float64, len(x)/in*out)
	for r := range len(x) / in {
		for i := range in {
			for o := range out {
				y[r*out+o] += x[r*in+i] * w[i*out+o]
			}
		}
	}
	return y
}

// normalise computes LayerNorm or RMSNorm of rows as wide as the gain; bias may be nil.
func normalise(x, gain, bias []float64, rms bool, eps float64) []float64 {
	n, y := len(gain), make([]float64, len(x))
	for at := 0; at < len(x); at += n {
		mean, variance := 0.0, 0.0
		for _, v := range x[at : at+n] {
			mean += v / float64(n)
		}
		if rms {
			mean = 0
		}
		for _, v := range x[at : at+n] {
			variance += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x[at : at+n] {
			y[at+i] = (v - mean) / math.Sqrt(variance+eps) * gain[i]
			if bias != nil {
				y[at+i] += bias[i]
			}
		}
	}
	return y
}

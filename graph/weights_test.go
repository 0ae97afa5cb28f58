package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// weighted compiles a program that multiplies x by three matrices: one that nothing else reads, one
// that another op also reads, and a small one.
func weighted(store *graph.Store, weights kernel.WeightFormat, more func(o *graph.ProgramOptions)) (*graph.Program, error) {
	o := graph.ProgramOptions{Options: graph.Options{Store: store, Weights: weights, Threads: 1}}
	if more != nil {
		more(&o)
	}
	return graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 3, 96)
		param := func(name string, shape ...int) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.1)})
		}
		alone := linear.Map(b, x, param("alone", 96, 128), linear.Options{})
		both := param("both", 80, 96)
		y := linear.Map(b, x, both, linear.Options{Transposed: true})
		small := linear.Map(b, x, param("small", 96, 8), linear.Options{})
		return graph.Roots{Outputs: gorgonia.Nodes{alone, y, small, elementwise.Scale(b, both, 2)}}, nil
	})
}

func weightedOutputs(t *testing.T, p *graph.Program) [][]float64 {
	draw := rand.New(rand.NewPCG(1, 2))
	for i, x := 0, p.Input("x").Float32s(); i < len(x); i++ {
		x[i] = float32(draw.NormFloat64())
	}
	require.NoError(t, p.Run(graph.RunOptions{}))
	var all [][]float64
	for _, n := range p.Roots().Outputs {
		v, err := graph.Value(n)
		require.NoError(t, err)
		all = append(all, graph.Float64s(v))
	}
	return all
}

// TestWeights: the products are near those of float32, small matrices and other ops read float32,
// and float32 values that nothing reads can be dropped.
func TestWeights(t *testing.T) {
	for format, bound := range map[kernel.WeightFormat]float64{kernel.WeightsBF16: 0.02, kernel.WeightsInt8: 0.05} {
		store := graph.NewStore(tensor.Float32, 1)
		p, err := weighted(store, "", nil)
		require.NoError(t, err)
		want := weightedOutputs(t, p)
		p.Close()

		served := store.Serve()
		p, err = weighted(served, format, nil)
		require.NoError(t, err)
		got := weightedOutputs(t, p)
		for i := range 2 {
			assert.NotEqual(t, want[i], got[i], "%s: output %d", format, i)
			assert.InDeltaSlice(t, want[i], got[i], bound, "%s: output %d", format, i)
		}
		assert.Equal(t, want[2:], got[2:], "%s", format)

		served.Release()
		assert.Nil(t, store.Param("alone").Value)
		assert.NotNil(t, store.Param("both").Value)
		assert.NotNil(t, store.Param("small").Value)
		assert.Equal(t, got, weightedOutputs(t, p), "after Release")
		again, err := weighted(served, format, nil)
		require.NoError(t, err)
		assert.Equal(t, got, weightedOutputs(t, again), "a program made after Release")
		again.Close()
		p.Close()

		_, err = weighted(store.Serve(), "", nil)
		optest.RequireLine(t, err, `parameter "alone": want its values, got a plan's shape`)
		_, err = weighted(store.Serve(), format, nil)
		optest.RequireLine(t, err, `parameter "alone": want its values, got a plan's shape`)
	}
}

// TestWeightsRefused: Weights are only for models that are used, on the CPU.
func TestWeightsRefused(t *testing.T) {
	store := graph.NewStore(tensor.Float32, 1)
	_, err := weighted(store, kernel.WeightsInt8, nil)
	optest.RequireLine(t, err, `weights: want a store of float32 that serves, for "int8", got one that may train`)
	p, err := weighted(store, "", nil)
	require.NoError(t, err)
	p.Close()
	_, err = weighted(store.Serve(), "int4", nil)
	optest.RequireLine(t, err, `weights: want "bf16" or "int8", got "int4"`)
	_, err = weighted(store.Serve(), kernel.WeightsInt8, func(o *graph.ProgramOptions) { o.Device = graph.CUDA })
	optest.RequireLine(t, err, `weights: want none on cuda, got "int8"`)
	served := store.Serve()
	p, err = weighted(served, kernel.WeightsInt8, nil)
	require.NoError(t, err)
	p.Close()
	_, err = weighted(served, kernel.WeightsBF16, nil)
	optest.RequireLine(t, err, "want one form of its weights for all programs of a store that serves")
}

// TestPrecisionOnTheCPU: on the CPU, bf16 and int8 set the form of weights.
func TestPrecisionOnTheCPU(t *testing.T) {
	assert.Equal(t, graph.Options{Weights: kernel.WeightsInt8}, graph.Options{}.For(graph.INT8))
	assert.Equal(t, graph.Options{Weights: kernel.WeightsBF16, Device: graph.CPU}, graph.Options{Device: graph.CPU}.For(graph.BF16))
	assert.Equal(t, graph.Options{Precision: graph.FP32}, graph.Options{}.For(graph.FP32))
	assert.Equal(t, graph.Options{Precision: graph.BF16, Device: graph.CUDA}, graph.Options{Device: graph.CUDA}.For(graph.BF16))
	_, err := weighted(graph.NewStore(tensor.Float32, 1), "", func(o *graph.ProgramOptions) { o.Options = o.For(graph.INT8) })
	optest.RequireLine(t, err, "weights: want a store of float32 that serves")
}

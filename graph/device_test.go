//go:build cuda

package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// deviceTolerances bound |device - CPU| relative to the largest magnitude of a tensor.
func deviceTolerances() map[Precision]float64 {
	return map[Precision]float64{FP32: 1e-5, TF32: 2e-3, BF16: 2e-2}
}

// TestDevice compares every op on the device with the CPU: its output and every gradient,
// in every precision, with its first input as an activation of that precision and as one
// of 32 bits. A second run has the same bits; an accumulating one doubles the gradients.
func TestDevice(t *testing.T) {
	for _, c := range opCases() {
		t.Run(c.name, func(t *testing.T) {
			want := newProbe(t, c, Options{Threads: 1}, true)
			want.run(t, RunOptions{})
			for precision, tolerance := range deviceTolerances() {
				for _, full := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/full=%t", precision, full), func(t *testing.T) {
						checkOnDevice(t, c, want, Options{Device: CUDA, Precision: precision}, full, tolerance)
					})
				}
			}
		})
	}
}

func checkOnDevice(t *testing.T, c opCase, want *probe, o Options, full bool, tolerance float64) {
	got := newProbe(t, c, o, full)
	got.run(t, RunOptions{})
	first := got.tensors(t)
	requireClose(t, want.tensors(t), first, tolerance)
	got.run(t, RunOptions{})
	require.Equal(t, bitsOf(first), bitsOf(got.tensors(t)), "a second run")
	if c.noGradient {
		return
	}
	got.run(t, RunOptions{Accumulate: true})
	for name, values := range got.tensors(t) {
		if name != "output" {
			requireClose(t, map[string][]float64{name: scaled(first[name], 2)}, map[string][]float64{name: values}, 1e-6)
		}
	}
}

// probe is a case's program.
type probe struct {
	program *Program
	c       opCase
}

func newProbe(t *testing.T, c opCase, o Options, full bool) *probe {
	t.Helper()
	o.Store, o.Training, o.Seed = NewStore(tensor.Float32, 3), c.training, 5
	r := rand.New(rand.NewPCG(7, 7))
	weights := make([]float32, 1<<16)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	p, err := Compile(ProgramOptions{Options: o, Gradients: !c.noGradient}, func(b *Builder) (Roots, error) {
		return c.probed(b, full, weights), b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.NoError(t, o.Store.Close())
	})
	return &probe{p, c}
}

func (p *probe) run(t *testing.T, o RunOptions) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 11))
	for i, in := range p.c.ints {
		ids := p.program.Ints(fmt.Sprintf("ids%d", i))
		for j := range ids {
			ids[j] = in.draw(r, j)
		}
	}
	require.NoError(t, p.program.Run(o))
}

// tensors are the output and the gradients.
func (p *probe) tensors(t *testing.T) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{"output": p.output(t)}
	require.NoError(t, p.program.Store().GradientsToHost())
	if p.c.noGradient {
		return all
	}
	for _, param := range p.program.Store().Params() {
		all["gradient of "+param.Name] = Float64s(param.Grad)
	}
	return all
}

func (p *probe) output(t *testing.T) []float64 {
	t.Helper()
	n := p.program.Roots().Outputs[0]
	if n.IsScalar() {
		v, err := Scalar(n)
		require.NoError(t, err)
		return []float64{v}
	}
	v, err := Value(n)
	require.NoError(t, err)
	if v.Dtype() != tensor.Int32 {
		return Float64s(v)
	}
	wide := make([]float64, v.DataSize())
	for i, x := range elements[int32](v) {
		wide[i] = float64(x)
	}
	return wide
}

func requireClose(t *testing.T, want, got map[string][]float64, tolerance float64) {
	t.Helper()
	for name, w := range want {
		g := got[name]
		require.Len(t, g, len(w), name)
		largest := 0.0
		for _, v := range w {
			largest = max(largest, math.Abs(v))
		}
		for i := range w {
			require.LessOrEqual(t, math.Abs(w[i]-g[i]), tolerance*largest+1e-30, "%s, entry %d: want %g, got %g, largest %g", name, i, w[i], g[i], largest)
		}
	}
}

func bitsOf(tensors map[string][]float64) map[string][]uint64 {
	bits := map[string][]uint64{}
	for name, values := range tensors {
		for _, v := range values {
			bits[name] = append(bits[name], math.Float64bits(v))
		}
	}
	return bits
}

func scaled(x []float64, factor float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * factor
	}
	return y
}

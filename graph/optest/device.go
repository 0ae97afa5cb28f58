//go:build cuda

package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// DeviceTolerances returns bounds of |device - CPU| relative to the largest magnitude in a tensor.
func DeviceTolerances() map[graph.Precision]float64 {
	return map[graph.Precision]float64{graph.FP32: 1e-5, graph.TF32: 2e-3, graph.BF16: 2e-2}
}

// RunOnDevice compares every case on the device with the CPU. It stops at a case in which a
// kernel's fault has made the GPU unusable for this process, and returns whether there was none.
func RunOnDevice(t *testing.T, cases []Case) (usable bool) {
	for _, c := range cases {
		if t.Run(c.Name, c.device) {
			continue
		}
		if err := lostDevice(); err != nil {
			t.Errorf("%s has left the GPU unusable: %v", c.Name, err)
			return false
		}
	}
	return true
}

// lostDevice returns the error that every call of the driver returns after a kernel's fault; nil if
// there was no fault.
func lostDevice() error {
	device, err := cuda.Open(cuda.Options{})
	if err != nil {
		return err
	}
	return device.Synchronize()
}

// device compares the op's output and every gradient with the CPU, in every precision, with its
// first input both as an activation of that precision and as one of 32 bits. A second run must give
// the same bits, and one that accumulates must double the gradients.
func (c Case) device(t *testing.T) {
	want := NewProbe(t, c, graph.Options{Threads: 1}, true)
	want.Run(t, graph.RunOptions{})
	for precision, tolerance := range DeviceTolerances() {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/full=%t", precision, full), func(t *testing.T) {
				CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: precision}, full, tolerance)
			})
			if t.Failed() && lostDevice() != nil {
				return
			}
		}
	}
}

// CheckOnDevice compares a case on the device with want, the same program on the CPU, in the
// precision of the options. It also checks a second run and one that accumulates, as
// RunOnDevice does.
func CheckOnDevice(t *testing.T, c Case, want *probe, o graph.Options, full bool, tolerance float64) {
	got := NewProbe(t, c, o, full)
	got.Run(t, graph.RunOptions{})
	first := got.Tensors(t)
	RequireClose(t, want.Tensors(t), first, tolerance)
	got.Run(t, graph.RunOptions{})
	require.Equal(t, bitsOf(first), bitsOf(got.Tensors(t)), "a second run")
	if c.NoGradient {
		return
	}
	got.Run(t, graph.RunOptions{Accumulate: true})
	for name, values := range got.Tensors(t) {
		if name != "output" {
			RequireClose(t, map[string][]float64{name: scaled(first[name], 2)}, map[string][]float64{name: values}, 1e-6)
		}
	}
}

// probe is the program of a case.
type probe struct {
	Program *graph.Program
	C       Case
}

func NewProbe(t *testing.T, c Case, o graph.Options, full bool) *probe {
	t.Helper()
	o.Store, o.Training, o.Seed = graph.NewStore(tensor.Float32, 3), c.Training, 5
	weights := drawn(1 << 16)
	p, err := graph.Compile(graph.ProgramOptions{Options: o, Gradients: !c.NoGradient}, func(b *graph.Builder) (graph.Roots, error) {
		return c.probed(b, full, weights), b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.NoError(t, o.Store.Close())
	})
	return &probe{p, c}
}

func (p *probe) Run(t *testing.T, o graph.RunOptions) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 11))
	for i, in := range p.C.Ints {
		ids := p.Program.Ints(fmt.Sprintf("ids%d", i))
		for j := range ids {
			ids[j] = in.Draw(r, j)
		}
	}
	require.NoError(t, p.Program.Run(o))
}

// Tensors returns the output and the gradients.
func (p *probe) Tensors(t *testing.T) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{"output": p.Output(t)}
	require.NoError(t, p.Program.Store().GradientsToHost())
	if p.C.NoGradient {
		return all
	}
	for _, param := range p.Program.Store().Params() {
		all["gradient of "+param.Name] = graph.Float64s(param.Grad)
	}
	return all
}

func (p *probe) Output(t *testing.T) []float64 {
	t.Helper()
	n := p.Program.Roots().Outputs[0]
	if n.IsScalar() {
		v, err := graph.Scalar(n)
		require.NoError(t, err)
		return []float64{v}
	}
	v, err := graph.Value(n)
	require.NoError(t, err)
	if v.Dtype() != tensor.Int32 {
		return graph.Float64s(v)
	}
	wide := make([]float64, v.DataSize())
	for i, x := range v.Int32s() {
		wide[i] = float64(x)
	}
	return wide
}

func RequireClose(t *testing.T, want, got map[string][]float64, tolerance float64) {
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

func CheckInAllPrecisions(t *testing.T, c Case) {
	want := NewProbe(t, c, graph.Options{Threads: 1}, true)
	want.Run(t, graph.RunOptions{})
	for precision, tolerance := range DeviceTolerances() {
		t.Run(string(precision), func(t *testing.T) {
			CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: precision}, false, tolerance)
		})
	}
}

// probed builds a case's op over parameters, the first of them converted to an activation, and a
// loss of which to take gradients.
func (c Case) probed(b *graph.Builder, full bool, weights []float32) graph.Roots {
	var x gorgonia.Nodes
	var present *gorgonia.Node
	if len(c.Floats) > 0 {
		present = b.Input("present", tensor.Int32, 1)
	}
	for i := range c.Floats {
		p := c.param(b, i)
		if i == 0 {
			p = b.Apply(asActivation{full}, p, present)
		}
		x = append(x, p)
	}
	y := c.Build(b, x, c.intInputs(b))
	if b.Err() != nil {
		return graph.Roots{}
	}
	r := graph.Roots{Outputs: gorgonia.Nodes{y}}
	switch {
	case c.NoGradient:
	case y.IsScalar():
		r.Loss = y
	default:
		size := graph.SignatureOf(y).Size()
		if size > len(weights) {
			weights = drawn(size)
		}
		r.Loss = b.Apply(weightedLoss{weights[:size]}, y)
	}
	return r
}

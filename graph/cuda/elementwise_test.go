//go:build cuda

package cuda

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	cpu "github.com/residua-go/residua/graph/kernel"
)

// everyMagnitude returns numbers of both signs from 1e-30 to 1e30, and special ones.
func everyMagnitude() []float32 {
	inf := float32(math.Inf(1))
	x := []float32{0, inf, -inf, float32(math.NaN())}
	for e := -30.0; e <= 30; e += 0.03 {
		v := float32(math.Pow(10, e))
		x = append(x, v, -v)
	}
	for v := float32(-20); v < 20; v += 0.01 {
		x = append(x, v)
	}
	return x
}

// assertClose checks that |got - want| is at most tolerance (1 + |want|), NaN where NaN is wanted,
// and the same infinity.
func assertClose(t *testing.T, name string, x, want, got []float32, tolerance float64) {
	t.Helper()
	for i, w := range want {
		w, g := float64(w), float64(got[i])
		if w == g || math.IsNaN(w) && math.IsNaN(g) {
			continue
		}
		if !(math.Abs(w-g) <= tolerance*(1+math.Abs(w))) {
			assert.Fail(t, "too far", "%s at %g: want %g, got %g", name, x[i], w, g)
		}
	}
}

// TestNonlinearities compares with the CPU over all magnitudes.
func TestNonlinearities(t *testing.T) {
	const tolerance = 1e-6
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	x := everyMagnitude()
	ones, want := make([]float32, len(x)), make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	xs, dy, y := onDevice(t, d, x, 0), onDevice(t, d, ones, 0), onDevice(t, d, ones, 0)
	grid, n := Eights(len(x)), Long(len(x))
	var k cpu.Elementwise[float32]
	run := func(f cpu.ElementFunc[float32], out, in [][]float32, numbers ...float64) {
		k.Run(pool, f, out, in, numbers...)
	}
	wants := [][]float32{want}
	for _, f := range []cpu.Activation{cpu.GeluTanh, cpu.GeluExact, cpu.ReLUSquared, cpu.ReLU} {
		run(cpu.Activate[float32], wants, [][]float32{x}, float64(f))
		launchOn(t, d, "activation_f32", grid, y, xs, Int(int(f)), n)
		assertClose(t, f.String(), x, want, onHost(t, d, y), tolerance)
		run(cpu.ActivateGradient[float32], wants, [][]float32{ones, x}, float64(f))
		launchOn(t, d, "activation_grad_f32", grid, y, dy, xs, Int(int(f)), n)
		assertClose(t, "gradient of "+f.String(), x, want, onHost(t, d, y), tolerance)
	}
}

// TestFormulas compares each formula with the CPU: each input takes all magnitudes while the others
// are 1, with all results and with the first alone, on arrays that are aligned and that are not.
func TestFormulas(t *testing.T) {
	d, x := testDevice(t), everyMagnitude()
	ones, n := slices.Repeat([]float32{1}, len(x)), len(x)
	for _, f := range cpu.Formulas() {
		grid := Eights(n)
		if f.Entries == 4 {
			grid = Quads(n)
		}
		for varied := range f.Inputs {
			testFormula(t, d, f, grid, x, func(i int) []float32 {
				if i == varied {
					return x
				}
				return ones
			}, varied%2)
		}
	}
}

func testFormula(t *testing.T, d *Device, f *cpu.Formula, grid Grid, x []float32, input func(i int) []float32, offset int) {
	const cap, tolerance = 3, 1e-6
	want, in, args := make([][]float32, len(f.Results)), make([][]float32, len(f.Inputs)), Args{}
	var results []Array
	for i := range want {
		want[i] = make([]float32, len(x))
		results = append(results, onDevice(t, d, want[i], offset))
	}
	for i := range in {
		in[i] = input(i)
		args = append(args, onDevice(t, d, in[i], offset))
	}
	var numbers []float64
	for range f.Numbers {
		numbers, args = append(numbers, cap), append(args, Float(cap))
	}
	var k cpu.Elementwise[float32]
	k.Run(nil, f.Single, want, in, numbers...)
	for wanted := len(results); wanted > 0; wanted -= max(1, len(results)-1) {
		out := make(Args, len(results))
		for i := range out {
			out[i] = Array{}
			if i < wanted {
				out[i] = results[i]
			}
		}
		launchOn(t, d, f.Kernel+"_f32", grid, out, args, Long(len(x)))
		for i := range wanted {
			assertClose(t, f.Name+"'s "+f.Results[i].Name, x, want[i], onHost(t, d, results[i]), tolerance)
		}
	}
}

// TestDropoutDrawsTheCPUsMask compares bits, for a size that is not a multiple of four.
func TestDropoutDrawsTheCPUsMask(t *testing.T) {
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	x := make([]float32, 3001)
	for i := range x {
		x[i] = float32(i + 1)
	}
	key := cpu.DropoutKey{Seed: 1 << 60, Site: 3, Step: 12345678901}
	want := make([]float32, len(x))
	var k cpu.Dropout[float32]
	k.Run(pool, want, x, 0.3, key)
	stream, threshold := key.Mask(0.3)
	for offset := range 2 {
		y := onDevice(t, d, x, offset)
		launchOn(t, d, "dropout_f32", Eights(len(x)), y, y, Unsigned(stream), Unsigned(threshold), Float(1/(1-0.3)), Long(len(x)))
		assert.Equal(t, want, onHost(t, d, y))
	}
}

// TestCastsRoundToNearestEven converts to bfloat16 and back.
func TestCastsRoundToNearestEven(t *testing.T) {
	d := testDevice(t)
	x := []float32{1, 1 + 1.0/256, 1 + 3.0/256, 1 + 1.0/256 + 1e-6, -2.5, 3.4e38, 0, float32(math.Inf(-1)), 7}
	want := []float32{1, 1, 1 + 4.0/256, 1 + 2.0/256, -2.5, float32(math.Inf(1)), 0, float32(math.Inf(-1)), 7}
	half, err := d.Alloc(BF16, len(x))
	require.NoError(t, err)
	defer d.Free(half)
	require.NoError(t, d.Convert(half, onDevice(t, d, x, 0)))
	back := onDevice(t, d, x, 0)
	require.NoError(t, d.Convert(back, half))
	assert.Equal(t, want, onHost(t, d, back))
	launchOn(t, d, "fill_bf16", Eights(len(x)), half, Float(1.5), Long(len(x)))
	filled := make([]uint16, len(x))
	require.NoError(t, d.Download(unsafe.Pointer(unsafe.SliceData(filled)), half))
	for _, v := range filled {
		assert.Equal(t, uint16(0x3fc0), v)
	}
}

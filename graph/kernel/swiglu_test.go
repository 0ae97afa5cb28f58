package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwiGLUSpecialValues checks silu and its derivative for infinities and other extreme values.
func TestSwiGLUSpecialValues(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		gate, ones := []float32{inf, 1e30, 200, -200, -1e30, -inf, 0, nan}, []float32{1, 1, 1, 1, 1, 1, 1, 1}
		y, dgate, dvalue := make([]float32, 8), make([]float32, 8), make([]float32, 8)
		k := Elementwise[float32]{path: p}
		k.Run(nil, SwiGLU[float32], [][]float32{y}, [][]float32{gate, ones})
		k.Run(nil, SwiGLUGradient[float32], [][]float32{dgate, dvalue}, [][]float32{ones, gate, ones})
		require.Equal(t, []float32{inf, 1e30, 200}, y[:3])
		require.Equal(t, y[:7], dvalue[:7])
		require.Equal(t, []float32{1, 1, 1}, dgate[:3])
		for _, got := range [][]float32{y, dgate} {
			require.InDeltaSlice(t, []float32{0, 0, 0}, got[3:6], 1e-40)
		}
		require.Equal(t, float32(0.5), dgate[6])
		require.True(t, y[7] != y[7] && dgate[7] != dgate[7] && dvalue[7] != dvalue[7])
	})
}

func TestReLU(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		k := Elementwise[float32]{path: p}
		nan, least := float32(math.NaN()), math.Float32frombits(1)
		x := []float32{-3, -least, 0, least, 0.5, 3e38, float32(math.Inf(1)), float32(math.Inf(-1)), nan}
		y, dx := make([]float32, len(x)), make([]float32, len(x))
		k.Run(nil, Activate[float32], [][]float32{y}, [][]float32{x}, float64(ReLU))
		k.Run(nil, ActivateGradient[float32], [][]float32{dx}, [][]float32{[]float32{1, 1, 1, 5, -2, 2, 7, 1, 1}, x}, float64(ReLU))
		require.Equal(t, []float32{0, 0, 0, least, 0.5, 3e38, float32(math.Inf(1)), 0}, y[:8])
		require.Equal(t, []float32{0, 0, 0, 5, -2, 2, 7, 0}, dx[:8])
		require.True(t, y[8] != y[8] && dx[8] != dx[8])
	})
}

func TestReLUSquared(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		k := Elementwise[float32]{path: p}
		nan := float32(math.NaN())
		x, y, dx := []float32{-3, -1e-30, 0, 0.5, 3, nan}, make([]float32, 6), make([]float32, 6)
		k.Run(nil, Activate[float32], [][]float32{y}, [][]float32{x}, float64(ReLUSquared))
		k.Run(nil, ActivateGradient[float32], [][]float32{dx}, [][]float32{[]float32{1, 1, 1, -2, 2, 1}, x}, float64(ReLUSquared))
		require.Equal(t, []float32{0, 0, 0, 0.25, 9}, y[:5])
		require.Equal(t, []float32{0, 0, 0, -2, 12}, dx[:5])
		require.True(t, y[5] != y[5] && dx[5] != dx[5])
	})
}

// TestGemmSwiGLU: the bits are the same as those of the products followed by SwiGLU.
func TestGemmSwiGLU(t *testing.T) {
	for _, d := range [][3]int{{1, 1, 1}, {5, 3, 7}, {33, 64, 200}, {140, 40, 1100}} {
		for _, transposed := range []bool{false, true} {
			t.Run(fmt.Sprint(d, transposed), func(t *testing.T) {
				testGemmSwiGLU[float32](t, d, transposed)
				testGemmSwiGLU[float64](t, d, transposed)
			})
		}
	}
}

func testGemmSwiGLU[T Float](t *testing.T, d [3]int, transposed bool) {
	rows, in, out := d[0], d[1], d[2]
	product, gradient := InstanceOf[T](SwiGLU[float32], SwiGLU[float64]), InstanceOf[T](SwiGLUGradient[float32], SwiGLUGradient[float64])
	draw := rand.New(rand.NewPCG(1, uint64(rows)))
	fresh := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(draw.NormFloat64())
		}
		return x
	}
	x, w, gate := fresh(rows*in), fresh(in*out), fresh(rows*out)
	p := NewPool(2)
	defer p.Close()
	wantValue, wantY, value, y := make([]T, rows*out), make([]T, rows*out), make([]T, rows*out), make([]T, rows*out)
	(&Gemm[T]{}).Run(p, false, false, rows, out, in, 1, x, in, w, out, 0, wantValue, out)
	(&Elementwise[T]{}).Run(p, product, [][]T{wantY}, [][]T{gate, wantValue})
	k := &GemmElementwise[T]{}
	k.Run(p, false, rows, out, in, x, w, value, product, [][]T{y}, [][]T{gate, value})
	require.Equal(t, wantValue, value)
	require.Equal(t, wantY, y)

	dy, gate := fresh(rows*out), fresh(rows*in)
	wantGate, want, dgate, got := make([]T, rows*in), make([]T, rows*in), make([]T, rows*in), make([]T, rows*in)
	(&Gemm[T]{}).Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, want, in)
	(&Elementwise[T]{}).Run(p, gradient, [][]T{wantGate, want}, [][]T{want, gate, x})
	backward := func() {
		k.Run(p, !transposed, rows, in, out, dy, w, got, gradient, [][]T{dgate, got}, [][]T{got, gate, x})
	}
	backward()
	require.Equal(t, want, got)
	require.Equal(t, wantGate, dgate)
	require.Zero(t, testing.AllocsPerRun(3, backward))
}

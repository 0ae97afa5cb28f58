package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFusedBFloat16: a fused product has the same bits, with any number of threads, as a product
// stored in bfloat16 followed by the activation.
func TestFusedBFloat16(t *testing.T) {
	const rows, in, out = 131, 70, 1100 // more than a block of rows, and of columns
	x, w := roundedGaussians(1, rows*in), roundedGaussians(2, in*out)
	h, g := roundedGaussians(3, rows*out), roundedGaussians(4, rows*out)
	var weights WeightsBFloat16
	packed := weights.Pack(nil, false, out, in, w, out)
	product := make([]BFloat16, rows*out)
	var gemm GemmBFloat16[BFloat16]
	gemm.Run(nil, false, false, rows, out, in, 1, x, in, w, out, 0, product, out)
	machine := pathOf[float32](0)
	for _, f := range []Activation{GeluTanh, GeluExact, ReLU, ReLUSquared} {
		y, dh := widened(product), widened(product)
		activate(machine, f, y, y)
		activateGradient(machine, f, dh, dh, widened(h))
		onThreads(t, func(p *Pool, k *FusedBFloat16) {
			gotH, gotY := make([]BFloat16, rows*out), make([]BFloat16, rows*out)
			k.Activated(p, gotH, gotY, x, packed, rows, f)
			require.Equal(t, product, gotH, f)
			require.Equal(t, rounded(y), gotY, f)
			k.ActivatedBackward(p, gotY, h, x, packed, rows, f)
			require.Equal(t, rounded(dh), gotY, f)
		})
	}
	y, dgate, dvalue := widened(product), widened(product), widened(product)
	swiGLU(machine, y, widened(g), y)
	swiGLUGradient(machine, dgate, dvalue, widened(product), widened(g), widened(h))
	onThreads(t, func(p *Pool, k *FusedBFloat16) {
		value, got := make([]BFloat16, rows*out), make([]BFloat16, rows*out)
		k.SwiGLU(p, got, value, g, x, packed, rows)
		require.Equal(t, product, value)
		require.Equal(t, rounded(y), got)
		k.SwiGLUBackward(p, got, value, g, h, x, packed, rows)
		require.Equal(t, rounded(dgate), got)
		require.Equal(t, rounded(dvalue), value)
	})
}

// onThreads calls f with one, two and three threads.
func onThreads(t *testing.T, f func(*Pool, *FusedBFloat16)) {
	t.Helper()
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		f(p, new(FusedBFloat16))
		p.Close()
	}
}

func rounded(x []float32) []BFloat16 {
	half := make([]BFloat16, len(x))
	RoundBFloat16(half, x)
	return half
}

func widened(x []BFloat16) []float32 {
	wide := make([]float32, len(x))
	widenBFloat16(machinePath, wide, x)
	return wide
}

func roundedGaussians(seed uint64, n int) []BFloat16 {
	return rounded(castTo[float32](gaussians(seed, n)))
}

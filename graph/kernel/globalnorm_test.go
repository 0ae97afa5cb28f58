package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumSquares(t *testing.T) {
	testSumSquares[float32](t)
	testSumSquares[float64](t)
}

// sumSquares adds the gradients and sums.
func (k *GlobalNorm[T]) sumSquares(p *Pool, gradients ...[]T) float64 {
	for _, x := range gradients {
		k.Add(x)
	}
	return k.SumSquares(p)
}

func testSumSquares[T Float](t *testing.T) {
	for _, n := range []int{0, 1, 3, 4099, 5*squaresBlock + 7} {
		x := normals[T](1, n, 3)
		var want float64
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		var k GlobalNorm[T]
		first := k.sumSquares(nil, x)
		require.InDelta(t, want, first, 1e-12*want)
		two := first + k.sumSquares(nil, x[:n/2])
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			require.Equal(t, first, k.sumSquares(p, x), "the same bits for any thread count")
			require.Equal(t, two, k.sumSquares(p, x, nil, x[:n/2]), "several gradients")
			p.Close()
		}
	}
}

func TestSumSquaresNotFinite(t *testing.T) {
	var k GlobalNorm[float32]
	for _, at := range []int{0, 1, 4095, 4096, 9999} {
		x := make([]float32, 10_000)
		x[at] = float32(math.NaN())
		require.True(t, math.IsNaN(k.sumSquares(nil, x)))
		x[at] = float32(math.Inf(-1))
		require.True(t, math.IsInf(k.sumSquares(nil, x), 1))
		x[at] = math.MaxFloat32
		require.Equal(t, float64(math.MaxFloat32)*math.MaxFloat32, k.sumSquares(nil, x), "no overflow")
	}
}

func TestSumSquaresWarmAllocatesNothing(t *testing.T) {
	x := normals[float32](1, 10_000, 1)
	p := NewPool(2)
	var k GlobalNorm[float32]
	requireNoAllocations(t, func() { k.sumSquares(p, x) })
}

func BenchmarkSumSquares(b *testing.B) {
	x := normals[float32](1, 1<<16, 1)
	var k GlobalNorm[float32]
	for b.Loop() {
		k.sumSquares(nil, x)
	}
	reportPerElement(b, len(x))
}

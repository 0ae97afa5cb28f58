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

func testSumSquares[T Float](t *testing.T) {
	for _, n := range []int{0, 1, 3, 4099, 5*squaresBlock + 7} {
		x := normals[T](1, n, 3)
		var want float64
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		var k GlobalNorm[T]
		first := k.SumSquares(nil, x)
		require.InDelta(t, want, first, 1e-12*want)
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			require.Equal(t, first, k.SumSquares(p, x), "the same bits for any thread count")
			p.Close()
		}
	}
}

func TestSumSquaresNotFinite(t *testing.T) {
	var k GlobalNorm[float32]
	for _, at := range []int{0, 1, 4095, 4096, 9999} {
		x := make([]float32, 10_000)
		x[at] = float32(math.NaN())
		require.True(t, math.IsNaN(k.SumSquares(nil, x)))
		x[at] = float32(math.Inf(-1))
		require.True(t, math.IsInf(k.SumSquares(nil, x), 1))
		x[at] = math.MaxFloat32
		require.Equal(t, float64(math.MaxFloat32)*math.MaxFloat32, k.SumSquares(nil, x), "no overflow")
	}
}

func TestSumSquaresWarmAllocatesNothing(t *testing.T) {
	x := normals[float32](1, 10_000, 1)
	p := NewPool(2)
	var k GlobalNorm[float32]
	requireNoAllocations(t, func() { k.SumSquares(p, x) })
}

func BenchmarkSumSquares(b *testing.B) {
	x := normals[float32](1, 1<<16, 1)
	var k GlobalNorm[float32]
	for b.Loop() {
		k.SumSquares(nil, x)
	}
	reportPerElement(b, len(x))
}

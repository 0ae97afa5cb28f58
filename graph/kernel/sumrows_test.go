package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumRows(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {0, 3}, {7, 13}, {100, 16}, {33, 101}, {1000, 5}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			testSumRows[float32](t, size[0], size[1], 5e-6)
			testSumRows[float64](t, size[0], size[1], 1e-13)
		})
	}
}

func testSumRows[T Float](t *testing.T, rows, width int, tolerance float64) {
	x, old := normals[T](1, rows*width, 1), normals[T](2, width, 1)
	want, wantSum := make([]float64, width), widen(old)
	for i, v := range x {
		want[i%width] += float64(v)
		wantSum[i%width] += float64(v)
	}
	var first []T
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		var k SumRows[T]
		out := append([]T(nil), old...)
		k.Run(p, out, x, rows, width, true)
		requireNear(t, wantSum, out, tolerance, "accumulated")
		k.Run(p, out, x, rows, width, false)
		requireNear(t, want, out, tolerance, "sum")
		if first == nil {
			first = out
		}
		require.Equal(t, first, out, "the same bits for any thread count")
		p.Close()
	}
}

// Sums 65,536 rows of a number that float32 cannot represent: adding them one after another in
// float32 would give a relative error of 1e-4.
func TestSumRowsManyRows(t *testing.T) {
	const rows = 1 << 16
	x := make([]float32, rows)
	for i := range x {
		x[i] = 0.1
	}
	var k SumRows[float32]
	out := make([]float32, 1)
	k.Run(nil, out, x, rows, 1, false)
	require.InEpsilon(t, rows*float64(x[0]), out[0], 1e-6)
}

func TestAddBias(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		y, bias := normals[float32](1, 7*13, 1), normals[float32](2, 13, 1)
		want := make([]float32, len(y))
		for i, v := range y {
			want[i] = v + bias[i%13]
		}
		var k SumRows[float32]
		k.AddBias(p, y, bias, 7, 13)
		require.Equal(t, want, y)
		p.Close()
	}
}

func TestSumRowsWarmAllocatesNothing(t *testing.T) {
	x, out := normals[float32](1, 10*50, 1), make([]float32, 50)
	p := NewPool(2)
	var k SumRows[float32]
	requireNoAllocations(t, func() {
		k.Run(p, out, x, 10, 50, true)
		k.AddBias(p, x, out, 10, 50)
	})
}

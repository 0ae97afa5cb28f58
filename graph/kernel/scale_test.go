package kernel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScale(t *testing.T) {
	testScale[float32](t)
	testScale[float64](t)
}

func testScale[T Float](t *testing.T) {
	for _, n := range []int{0, 1, 17, 1009} {
		for _, factor := range []float64{1, 0, -0.1, 3} {
			x := normals[T](1, n, 1)
			want := make([]T, n)
			for i, v := range x {
				want[i] = v * T(factor)
			}
			for threads := 1; threads <= 3; threads++ {
				p := NewPool(threads)
				var k Elementwise[T]
				out, inPlace := make([]T, n), slices.Clone(x)
				k.Run(p, Scale[T], [][]T{out}, [][]T{x}, factor)
				k.Run(p, Scale[T], [][]T{inPlace}, [][]T{inPlace}, factor)
				require.Equal(t, want, out)
				require.Equal(t, want, inPlace)
				p.Close()
			}
		}
	}
}

func TestScaleWarmAllocatesNothing(t *testing.T) {
	x := normals[float32](1, 100, 1)
	p := NewPool(2)
	var k Elementwise[float32]
	rows := [][]float32{x}
	requireNoAllocations(t, func() { k.Run(p, Scale[float32], rows, rows, 0.5) })
}

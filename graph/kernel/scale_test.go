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
				var k Scale[T]
				out, inPlace := make([]T, n), slices.Clone(x)
				k.Run(p, out, x, factor)
				k.Run(p, inPlace, inPlace, factor)
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
	var k Scale[float32]
	requireNoAllocations(t, func() { k.Run(p, x, x, 0.5) })
}

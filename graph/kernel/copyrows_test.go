package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopyRows: rows of all widths arrive whole, and nothing else changes.
func TestCopyRows(t *testing.T) {
	t.Run("float32", testCopyRows[float32])
	t.Run("float64", testCopyRows[float64])
}

func testCopyRows[T Float](t *testing.T) {
	for _, width := range []int{1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 33, 64, 160} {
		for _, n := range []int{0, 1, 2, 5} {
			ds, ss := width+3, width+5
			src, dst := normals[T](1, n*ss+1, 1), normals[T](2, n*ds+1, 1)
			want := append([]T(nil), dst...)
			for i := range n {
				for j := range width {
					want[i*ds+j] = src[i*ss+j]
				}
			}
			copyRows(dst, ds, src, ss, width, n)
			require.Equal(t, want, dst, fmt.Sprint(n, " rows of ", width))
			if n > 0 {
				require.Panics(t, func() { copyRows(dst[:(n-1)*ds+width-1:(n-1)*ds+width-1], ds, src, ss, width, n) })
				require.Panics(t, func() { copyRows(dst, ds, src[:(n-1)*ss+width-1:(n-1)*ss+width-1], ss, width, n) })
			}
		}
	}
}

package kernel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// column returns column j of a matrix of the given width.
func column[T Float](x []T, width, j int) []T {
	var c []T
	for ; j < len(x); j += width {
		c = append(c, x[j])
	}
	return c
}

// TestConcat: the result's columns are the inputs' columns in order.
func TestConcat(t *testing.T) {
	testConcat[float32](t)
	testConcat[float64](t)
}

func testConcat[T Float](t *testing.T) {
	for _, rows := range []int{1, 2, 7} {
		for _, widths := range [][]int{{1}, {3, 1}, {2, 5, 17}} {
			var inputs [][]T
			var want [][]T
			for i, w := range widths {
				inputs = append(inputs, normals[T](uint64(i), rows*w, 1))
				for j := range w {
					want = append(want, column(inputs[i], w, j))
				}
			}
			for threads := 1; threads <= 3; threads++ {
				p := NewPool(threads)
				out := make([]T, rows*len(want))
				var k Concat[T]
				k.Run(p, out, inputs, rows)
				for j := range want {
					require.Equal(t, want[j], column(out, len(want), j))
				}
				p.Close()
			}
		}
	}
}

// TestColumns takes columns and adds them, in place and elsewhere.
func TestColumns(t *testing.T) {
	testColumns[float32](t)
	testColumns[float64](t)
}

func testColumns[T Float](t *testing.T) {
	for _, c := range []struct{ rows, width, from, columns int }{{1, 1, 0, 1}, {3, 7, 2, 4}, {5, 40, 0, 39}, {5, 40, 1, 39}, {4, 6, 0, 6}} {
		x, dy := normals[T](1, c.rows*c.width, 1), normals[T](2, c.rows*c.columns, 1)
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			y, padded, added := make([]T, len(dy)), slices.Clone(x), make([]T, len(x))
			var k Columns[T]
			k.Take(p, y, x, c.rows, c.from)
			k.Put(p, padded, nil, dy, c.rows, c.from)
			k.Put(p, added, x, dy, c.rows, c.from)
			for j := range c.width {
				old, want := column(x, c.width, j), make([]T, c.rows)
				if at := j - c.from; at >= 0 && at < c.columns {
					require.Equal(t, old, column(y, c.columns, at))
					want = column(dy, c.columns, at)
				}
				require.Equal(t, want, column(padded, c.width, j))
				for i := range want {
					want[i] += old[i]
				}
				require.Equal(t, want, column(added, c.width, j))
			}
			inPlace := slices.Clone(x)
			k.Put(p, inPlace, inPlace, dy, c.rows, c.from)
			require.Equal(t, added, inPlace)
			p.Close()
		}
	}
}

func TestConcatWarmAllocatesNothing(t *testing.T) {
	inputs := [][]float32{normals[float32](1, 60, 1), normals[float32](2, 40, 1)}
	out := make([]float32, 100)
	p := NewPool(2)
	defer p.Close()
	var k Concat[float32]
	var columns Columns[float32]
	requireNoAllocations(t, func() {
		k.Run(p, out, inputs, 10)
		columns.Take(p, inputs[0], out, 10, 2)
		columns.Put(p, out, out, inputs[1], 10, 3)
	})
}

package kernel

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestScoreRowLayout checks that scoreRow[float32] has the layout that internal/vecgen writes into
// the assembly.
func TestScoreRowLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x scoreRow[float32]
	assert.Equal(t, []uintptr{0, 8, 16, 20, 24, 28, 32, 40}, []uintptr{
		unsafe.Offsetof(x.at), unsafe.Offsetof(x.n), unsafe.Offsetof(x.far), unsafe.Offsetof(x.shift),
		unsafe.Offsetof(x.delta), unsafe.Offsetof(x.largest), unsafe.Offsetof(x.sum), unsafe.Sizeof(x),
	})
}

// TestScoreRows compares the functions for lists of rows with those for one row, to the bit, and
// checks what lies between the rows.
func TestScoreRows(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		const room = 3 + 16
		var rows []scoreRow[float32]
		size := room
		for i, n := range vectorLengths {
			rows = append(rows, scoreRow[float32]{at: size, n: n, far: float32(n + i), shift: 0.5, delta: 0.25})
			size += n + room
		}
		x, dx := normals[float32](1, size, 2), normals[float32](2, size, 2)
		want, dwant := slices.Clone(x), slices.Clone(dx)
		each := func(f func(r *scoreRow[float32], x, dx []float32)) {
			for i := range rows {
				r := &rows[i]
				f(r, want[r.at:][:r.n], dwant[r.at:][:r.n])
				require.Equal(t, want[r.at:][:r.n], x[r.at:][:r.n], "%d elements", r.n)
				require.Equal(t, dwant[r.at:][:r.n], dx[r.at:][:r.n], "%d elements", r.n)
			}
		}
		distancesMaxRows(p, rows, x, 1, 0.125)
		each(func(r *scoreRow[float32], x, _ []float32) {
			require.Equal(t, distancesMax(p, x, 0.125, int(r.far)), r.largest, r.n)
		})
		expRows(p, rows, x)
		each(func(r *scoreRow[float32], x, _ []float32) {
			require.Equal(t, attentionExp(p, x, r.shift), r.sum, r.n)
		})
		cleared := make([]float32, attentionTileRows)
		for _, r := range rows {
			after := x[r.at+r.n:][:attentionTileRows]
			require.Equal(t, cleared, after)
			after[0], after[len(after)-1] = 1, 1
		}
		softmaxGradientRows(p, rows, x, dx, 1, 0.125)
		each(func(r *scoreRow[float32], x, dx []float32) {
			softmaxGradient(p, x, dx, 0.125, int(r.far), r.shift, r.delta)
		})
		for _, r := range rows {
			require.Equal(t, cleared, x[r.at+r.n:][:attentionTileRows])
			require.Equal(t, cleared, dx[r.at+r.n:][:attentionTileRows])
		}
		for _, r := range rows { // the elements before a row are beyond the vector after the last row
			require.Equal(t, want[r.at-3:r.at], x[r.at-3:r.at])
			require.Equal(t, dwant[r.at-3:r.at], dx[r.at-3:r.at])
		}
	})
}

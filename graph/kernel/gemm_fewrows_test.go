package kernel

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFewRowsLayouts checks that axpyTile[float32] and gemvTile[float32] have the layouts that
// internal/asmgen writes into the assembly.
func TestFewRowsLayouts(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x axpyTile[float32]
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.y), unsafe.Offsetof(x.a), unsafe.Offsetof(x.as), unsafe.Offsetof(x.x), unsafe.Offsetof(x.xs), unsafe.Offsetof(x.n), unsafe.Offsetof(x.ahead),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
	var y gemvTile[float32]
	for i, offset := range []uintptr{
		unsafe.Offsetof(y.y), unsafe.Offsetof(y.ys), unsafe.Offsetof(y.a), unsafe.Offsetof(y.as), unsafe.Offsetof(y.x), unsafe.Offsetof(y.xs), unsafe.Offsetof(y.squares), unsafe.Offsetof(y.ahead),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
}

// TestFewRowsHaveTheBitsOfMany compares rows of a product computed alone with the same rows
// computed among others: a text decoded by itself, and in a batch or a prompt.
func TestFewRowsHaveTheBitsOfMany(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	const many = 21
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, s := range [][2]int{{49, 7}, {96, 64}, {1100, 769}, {57, 400}, {90, 776}, {2053, 96}} {
			for i, scale := range [][2]float64{{1, 0}, {1, 1}, {0.7, 1}, {0.7, -0.5}} {
				for _, tb := range []bool{false, true} {
					requireRowsAlone(t, p, pool, gemmCase{m: many, n: s[0], k: s[1], tb: tb, alpha: scale[0], beta: scale[1], pad: i})
				}
			}
		}
	})
}

// requireRowsAlone checks that the first rows of the product g have the same bits when computed few
// at a time.
func requireRowsAlone(t *testing.T, p path, pool *Pool, g gemmCase) {
	t.Helper()
	all, few := makeOperands[float32](g), makeOperands[float32](g)
	gemm := &Gemm[float32]{path: p}
	all.run(gemm, pool)
	for first, rows := 0, 1; first+rows <= g.m; first, rows = first+rows, rows+1 {
		part := *few
		part.m = rows
		part.a, part.c = few.a[first*few.lda:], few.c[first*few.ldc:]
		part.run(gemm, pool)
		for i := first; i < first+rows; i++ {
			require.True(t, slices.Equal(all.c[i*all.ldc:i*all.ldc+g.n], few.c[i*few.ldc:i*few.ldc+g.n]), "%v: row %d, computed with %d", g, i, rows)
		}
	}
}

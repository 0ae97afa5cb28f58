package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTileLayout checks that tile[float32] has the layout that internal/asmgen writes into the
// assembly.
func TestTileLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x tile[float32]
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.a), unsafe.Offsetof(x.b), unsafe.Offsetof(x.c), unsafe.Offsetof(x.d),
		unsafe.Offsetof(x.k), unsafe.Offsetof(x.tiles),
		unsafe.Offsetof(x.as), unsafe.Offsetof(x.bs), unsafe.Offsetof(x.cs), unsafe.Offsetof(x.cols),
		unsafe.Offsetof(x.an), unsafe.Offsetof(x.bn), unsafe.Offsetof(x.cn),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
	assert.EqualValues(t, 104, unsafe.Offsetof(x.alpha))
	assert.EqualValues(t, 108, unsafe.Offsetof(x.beta))
}

// microkernelCase is one call of a micro-kernel.
type microkernelCase struct {
	rows, vecs, cols, tiles, k int
	transposed                 bool
	beta                       float64
}

func (c microkernelCase) String() string {
	return fmt.Sprintf("rows=%d vecs=%d cols=%d tiles=%d k=%d transposed=%t beta=%g", c.rows, c.vecs, c.cols, c.tiles, c.k, c.transposed, c.beta)
}

// TestMicrokernels runs every micro-kernel, with whole and partial vectors, one tile
// and several, and an addend that is not C.
func TestMicrokernels(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		kernels := kernelsOf[float32](p)
		require.Equal(t, p, kernels.path)
		for vecs := 1; vecs <= kernels.vecs; vecs++ {
			for rows := 1; rows <= kernels.rows[vecs]; rows++ {
				for i, cols := range []int{1, kernels.lanes - 1, kernels.lanes} {
					for _, transposed := range []bool{false, true} {
						testMicrokernel(t, kernels, microkernelCase{rows, vecs, cols, 1 + i, 1 + 3*i, transposed, 0})
						testMicrokernel(t, kernels, microkernelCase{rows, vecs, cols, 3 - i, 5, transposed, -0.5})
					}
				}
			}
		}
	})
}

func testMicrokernel(t *testing.T, kernels *microkernels, c microkernelCase) {
	r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.cols)))
	m, n := c.rows*c.tiles, (c.vecs-1)*kernels.lanes+c.cols
	as, bs, cs := choose(c.transposed, m, c.k)+1, n+2, n+3
	an, bn, cn := choose(c.transposed, c.rows, c.rows*as), 3*(c.rows%2), 5*(c.tiles%2) // one under another, or farther apart
	a := uniformSlice[float32](r, choose(c.transposed, c.k, m)*as)
	b := uniformSlice[float32](r, c.k*bs+(c.tiles-1)*bn)
	size := m*cs + c.tiles*cn
	out, d := uniformSlice[float32](r, size), uniformSlice[float32](r, size)
	want := newSums(len(out))
	for i := range out {
		want.value[i] = float64(out[i])
	}
	for i := range m {
		for j := range n {
			at, first := i*cs+i/c.rows*cn+j, i/c.rows*bn
			want.value[at] = 0
			want.add(at, c.beta*float64(d[at]))
			for p := range c.k {
				want.add(at, 1.5*float64(a[choose(c.transposed, p*as+i, i*as+p)])*float64(b[first+p*bs+j]))
			}
		}
	}
	x := block[float32]{kernels: kernels, transposed: c.transposed}
	x.runTiles(&tile[float32]{
		a: &a[0], b: &b[0], c: &out[0], d: &d[0], k: c.k, tiles: c.tiles,
		as: as, bs: bs, cs: cs, cols: c.cols, an: an, bn: bn, cn: cn, alpha: 1.5, beta: float32(c.beta),
	}, c.rows, c.vecs)
	requireClose(t, c, out, want.value, want.magnitude, c.k)
}

// TestTranspose covers whole squares, edges, and both.
func TestTranspose(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, s := range [][2]int{{1, 1}, {3, 40}, {8, 8}, {16, 16}, {16, 48}, {33, 17}, {17, 33}, {64, 65}, {40, 7}, {32, 8}, {9, 8}, {32, 15}, {12, 24}} {
			rows, columns := s[0], s[1]
			ss, ds := columns+3, rows+5
			src := uniformSlice[float32](rand.New(rand.NewPCG(1, 2)), rows*ss)
			dst := make([]float32, columns*ds)
			transpose(p, dst, ds, src[:(rows-1)*ss+columns], ss, rows, columns)
			for c := range columns {
				for r := range ds {
					var want float32
					if r < rows {
						want = src[r*ss+c]
					}
					require.Equal(t, want, dst[c*ds+r], "%v: row %d, column %d", s, c, r)
				}
			}
		}
	})
}

//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	cpu "github.com/residua-go/residua/graph/kernel"
)

// layoutCase is a matrix of tokens with rows of n vectors. For widths that are multiples of four
// the kernels use wide accesses, for others they do not.
type layoutCase struct{ tokens, n, width, from, fewer int }

func layoutCases() []layoutCase {
	return []layoutCase{{5, 3, 12, 4, 8}, {5, 3, 12, 3, 6}, {300, 2, 20, 8, 4}, {7, 4, 131, 130, 1}, {1, 1, 1, 0, 1}}
}

// normals returns n normal variates, the same for each seed.
func normals(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// TestLayoutMatchesTheCPU compares copies and sums with the CPU, with and without alignment;
// nothing is rounded, or as on the CPU.
func TestLayoutMatchesTheCPU(t *testing.T) {
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	for _, c := range layoutCases() {
		for offset := range 2 {
			t.Run(fmt.Sprintf("%+v off by %d", c, offset), func(t *testing.T) {
				h := normals(1, c.tokens*c.n*c.width) // [tokens, n, width]
				x := normals(2, c.tokens*c.width)     // [tokens, width]
				y := normals(3, c.tokens*c.fewer)     // [tokens, fewer]
				hs, xs, ys := onDevice(t, d, h, offset), onDevice(t, d, x, offset), onDevice(t, d, y, offset)
				tokens, n, width, fewer, from := Int(c.tokens), Int(c.n), Int(c.width), Int(c.fewer), Int(c.from)
				rows := QuadRows(c.tokens, c.width)

				var columns cpu.Columns[float32]
				columns.Put(pool, x, x, y, c.tokens, c.from)
				launchOn(t, d, "slice_grad_f32", rows, xs, xs, ys, tokens, width, fewer, from)
				assert.Equal(t, x, onHost(t, d, xs), "slice's gradient")

				columns.Take(pool, y, x, c.tokens, c.from)
				launchOn(t, d, "columns_f32", QuadRows(c.tokens, c.fewer), ys, fewer, xs.Slice(c.from, xs.N-c.from), width, tokens, fewer)
				assert.Equal(t, y, onHost(t, d, ys), "columns")

				copies := cpu.Copies[float32]{}
				copies.Spread(pool, h, x, h, c.tokens, c.n, c.width)
				launchOn(t, d, "copies_f32", rows, hs, xs, hs, tokens, n, width)
				assert.Equal(t, h, onHost(t, d, hs), "copies")

				want := make([]float32, len(x))
				copies.Sum(pool, want, h, x, c.tokens, c.n, c.width)
				launchOn(t, d, "sum_copies_f32", rows, xs, hs, xs, tokens, n, width)
				assert.Equal(t, want, onHost(t, d, xs), "sum of copies")
			})
		}
	}
}

// TestGLUMatchesTheCPU compares the product and its gradient at each width.
func TestGLUMatchesTheCPU(t *testing.T) {
	const tolerance = 1e-6
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	var glu cpu.GLU[float32]
	for _, c := range layoutCases() {
		n := c.tokens * c.width
		x, dy, addend := normals(1, 2*n), normals(2, n), normals(3, n) // x [tokens, 2*width]
		xs, dys, ys, dxs := onDevice(t, d, x, 0), onDevice(t, d, dy, 0), onDevice(t, d, addend, 0), onDevice(t, d, x, 0)
		rows, tokens, width := QuadRows(c.tokens, c.width), Int(c.tokens), Int(c.width)

		want := make([]float32, n)
		glu.Forward(pool, want, x, [][]float32{dy, addend}, c.tokens, c.width)
		launchOn(t, d, "glu_f32", rows, ys, xs, ys, dys, Array{}, tokens, width)
		assert.InDeltaSlice(t, want, onHost(t, d, ys), tolerance)

		dx := make([]float32, 2*n)
		glu.Backward(pool, dx, dy, x, c.tokens, c.width)
		launchOn(t, d, "glu_grad_f32", rows, dxs, dys, xs, tokens, width)
		assert.InDeltaSlice(t, dx, onHost(t, d, dxs), tolerance)
	}
}

// TestSumRowsMatchesTheCPU sums in one slab and in several, the last of which is short.
func TestSumRowsMatchesTheCPU(t *testing.T) {
	const rows = 150
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	var sum cpu.SumRows[float32]
	for _, width := range []int{1, 5, 128, 260} {
		x := normals(1, rows*width)
		for _, length := range []int{rows, 32} {
			want := normals(2, width)
			y := onDevice(t, d, want, 0)
			sum.Run(pool, want, x, rows, width, true)
			slabs := (rows + length - 1) / length
			partial := onDevice(t, d, make([]float32, slabs*width), 0)
			launchOn(t, d, "sum_rows_partial_f32", Grid{X: (width + 127) / 128, Y: slabs, Threads: 256},
				partial, onDevice(t, d, x, 0), Int(rows), Int(width), Int(length))
			launchOn(t, d, "sum_rows_finish", Over(width, 256), y, partial, Int(slabs), Int(width), Bool(true))
			assert.InDeltaSlice(t, want, onHost(t, d, y), 1e-5)
		}
	}
}

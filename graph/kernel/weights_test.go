package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWeightsLayout checks that weightsTile has the layout that internal/asmgen writes into the
// assembly.
func TestWeightsLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x weightsTile
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.y), unsafe.Offsetof(x.a), unsafe.Offsetof(x.x), unsafe.Offsetof(x.scales), unsafe.Offsetof(x.k), unsafe.Offsetof(x.panel),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
}

// weightsCase is a product with Weights [k, n].
type weightsCase struct {
	format     WeightFormat
	k, n       int
	transposed bool
	pairs      bool // for products of bfloat16
}

func weightsCases() []weightsCase {
	var all []weightsCase
	for _, s := range [][2]int{{1, 1}, {64, 64}, {65, 63}, {200, 130}, {400, 96}, {769, 1100}} {
		for _, transposed := range []bool{false, true} {
			for _, c := range []weightsCase{{format: WeightsBF16}, {format: WeightsBF16, pairs: true}, {format: WeightsInt8}} {
				c.k, c.n, c.transposed = s[0], s[1], transposed
				all = append(all, c)
			}
		}
	}
	return all
}

func (c weightsCase) String() string {
	return fmt.Sprintf("%s %dx%d transposed=%t pairs=%t", c.format, c.k, c.n, c.transposed, c.pairs)
}

// random returns a matrix, one column of which is 0, and its Weights.
func (c weightsCase) random() (b []float32, w *Weights) {
	b = uniformSlice[float32](rand.New(rand.NewPCG(1, uint64(c.k))), c.k*c.n)
	for i := range c.k {
		b[c.index(i, c.n/2)] = 0
	}
	return b, newWeights(nil, c.format, b, c.k, c.n, c.transposed, c.pairs)
}

func (c weightsCase) index(i, j int) int {
	if c.transposed {
		return j*c.k + i
	}
	return i*c.n + j
}

// TestWeightsEntries checks that each entry is rounded as its format says.
func TestWeightsEntries(t *testing.T) {
	for _, c := range weightsCases() {
		b, w := c.random()
		for j := range c.n {
			scale := float32(0)
			for i := range c.k {
				v := b[c.index(i, j)]
				want := toBFloat16(v).Float32()
				if c.format == WeightsInt8 {
					if i%64 == 0 {
						largest := 0.0
						for g := i; g < min(c.k, i+64); g++ {
							largest = max(largest, math.Abs(float64(b[c.index(g, j)])))
						}
						scale = float32(largest / 127)
					}
					if want = 0; scale > 0 {
						want = float32(math.RoundToEven(float64(v)/float64(scale))) * scale
					}
				}
				if got := w.entry(i, j); got != want {
					t.Fatalf("%v: %d, %d: want %v, got %v", c, i, j, want, got)
				}
			}
		}
	}
	large := weightsCase{format: WeightsInt8, k: 768, n: 768}
	_, w := large.random()
	assert.Equal(t, 768*768+4*12*768, w.Bytes(), "a byte an entry, a float32 a group")
	large.format = WeightsBF16
	_, w = large.random()
	assert.Equal(t, 2*768*768, w.Bytes())
	large.pairs = true
	_, w = large.random()
	assert.Equal(t, 2*768*2*panelPairs(768), w.Bytes())
}

// product multiplies rows by the weights, on a path.
func (c weightsCase) product(p path, pool *Pool, w *Weights, a []float32, m, lda int) []float32 {
	y := make([]float32, m*c.n)
	gemm := &Gemm[float32]{path: p, Weights: w}
	gemm.Run(pool, false, c.transposed, m, c.n, c.k, 0.7, a, lda, nil, 0, 0, y, c.n)
	return y
}

// TestWeightsProduct compares products of few and of many rows with products of the entries in
// float64. It checks that a row has the same bits alone as among others, and, if it is alone, on
// all paths.
func TestWeightsProduct(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	const most = 37
	for _, c := range weightsCases() {
		_, w := c.random()
		lda := c.k + 3
		a := uniformSlice[float32](rand.New(rand.NewPCG(2, 3)), most*lda)
		want := make([]float64, most*c.n)
		for j := range c.n {
			for p := range c.k {
				e := float64(w.entry(p, j))
				for i := range most {
					x := a[i*lda+p]
					if c.pairs {
						x = toBFloat16(x).Float32()
					}
					want[i*c.n+j] += float64(float32(0.7)) * float64(x) * e
				}
			}
		}
		alone := c.product(portable, pool, w, a, 1, lda)
		forEachPath[float32](t, func(t *testing.T, p path) {
			all := c.product(p, pool, w, a, most, lda)
			for i, v := range all {
				require.InDelta(t, want[i], v, 1e-6*float64(c.k), "%v: %d", c, i)
			}
			for m := 1; m <= fewRows; m++ {
				few := c.product(p, pool, w, a, m, lda)
				require.Equal(t, alone, few[:c.n], "%v: bits of %d rows", c, m)
				if p != portable || c.pairs { // there, products of many rows are not summed by fused multiply-adds
					require.True(t, slices.Equal(all[:m*c.n], few), "%v: bits of %d rows among %d", c, m, most)
				}
			}
		})
	}
}

// TestWeightsProductByTiles compares products on path amx with products of the entries in float64:
// many rows of weights in int8 are multiplied by entries rounded to bfloat16, few rows and weights
// that say so in float32, with the bits of another path. In bf16 a row has the same bits alone as
// among others.
func TestWeightsProductByTiles(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	const rows = 37
	for _, c := range weightsCases() {
		if c.format == WeightsBF16 && !c.pairs {
			continue
		}
		b, w := c.random()
		if c.pairs {
			w = &Weights{format: WeightsBF16, k: c.k, n: c.n, pairs: &WeightsBFloat16{path: amx}}
			w.packed = w.pairs.PackFloat32(nil, c.transposed, c.n, c.k, b, choose(c.transposed, c.k, c.n))
		}
		a := uniformSlice[float32](rand.New(rand.NewPCG(2, 3)), rows*c.k)
		all := c.product(amx, pool, w, a, rows, c.k)
		for i := range rows {
			for j := range c.n {
				want := 0.0
				for p := range c.k {
					want += float64(float32(0.7)) * float64(toBFloat16(a[i*c.k+p]).Float32()) * float64(toBFloat16(w.entry(p, j)).Float32())
				}
				require.InDelta(t, want, all[i*c.n+j], 1e-6*float64(c.k), "%v: %d, %d", c, i, j)
			}
		}
		few := c.product(amx, pool, w, a, fewRows, c.k)
		if c.pairs {
			require.Equal(t, all[:fewRows*c.n], few, "%v", c)
			continue
		}
		require.Equal(t, c.product(machinePath, pool, w, a, fewRows, c.k), few, "%v", c)
		require.Equal(t, c.product(machinePath, pool, w, a, rows, c.k), c.product(amx, pool, w.RowsAlone(), a, rows, c.k), "%v", c)
	}
}

// TestWeightsRefused checks that Weights panic where they are not possible, as a matrix that is too
// short does.
func TestWeightsRefused(t *testing.T) {
	w := NewWeights(nil, WeightsBF16, make([]float32, 6), 2, 3, false)
	x := make([]float32, 16)
	assert.Panics(t, func() { (&Gemm[float32]{Weights: w}).Run(nil, false, false, 1, 2, 3, 1, x, 3, nil, 0, 0, x, 2) })
	assert.Panics(t, func() { (&Gemm[float32]{Weights: w}).Run(nil, true, false, 1, 3, 2, 1, x, 3, nil, 0, 0, x, 3) })
	assert.Panics(t, func() {
		(&Gemm[float64]{Weights: w}).Run(nil, false, false, 1, 3, 2, 1, make([]float64, 4), 3, nil, 0, 0, make([]float64, 4), 3)
	})
}

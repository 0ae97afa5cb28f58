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

	"github.com/residua-go/residua/internal/longtest"
)

// pathNames maps the paths that tests force to their names.
var pathNames = map[path]string{portable: "portable", neon: "neon", avx2: "avx2", avx512: "avx512"}

// forEachPath runs f on every path that this machine has; for float64 there is one.
func forEachPath[T Float](t *testing.T, f func(t *testing.T, p path)) {
	for _, p := range []path{portable, neon, avx2, avx512} {
		if p > portable && unsafe.Sizeof(T(0)) != 4 {
			continue
		}
		t.Run(fmt.Sprintf("%T/%s", T(0), pathNames[p]), func(t *testing.T) {
			if !hasPath(p) {
				t.Skip("this processor lacks " + pathNames[p])
			}
			f(t, p)
		})
	}
}

// hasPath tells whether this processor has a path.
func hasPath(p path) bool {
	return p == portable || p <= machinePath && (p == neon) == (machinePath == neon)
}

// uniformSlice returns n numbers in [-1, 1).
func uniformSlice[T Float](r *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(2*r.Float64() - 1)
	}
	return s
}

// gemmCase is one call of Gemm.Run; pad is added to the natural row distances.
type gemmCase struct {
	m, n, k     int
	ta, tb      bool
	alpha, beta float64
	pad         int
}

func (c gemmCase) String() string {
	return fmt.Sprintf("%dx%dx%d ta=%t tb=%t alpha=%g beta=%g pad=%d", c.m, c.n, c.k, c.ta, c.tb, c.alpha, c.beta, c.pad)
}

// operands holds the matrices of a call, exactly as long as they need to be.
type operands[T Float] struct {
	gemmCase
	a, b, c       []T
	lda, ldb, ldc int
}

func matrixLength(rows, columns, ld int) int {
	if rows == 0 || columns == 0 {
		return 0
	}
	return (rows-1)*ld + columns
}

func makeOperands[T Float](g gemmCase) *operands[T] {
	r := rand.New(rand.NewPCG(uint64(g.m*1000+g.n), uint64(g.k)))
	o := &operands[T]{gemmCase: g}
	rows, columns := choose(g.ta, g.k, g.m), choose(g.ta, g.m, g.k)
	o.lda = columns + g.pad
	o.a = uniformSlice[T](r, matrixLength(rows, columns, o.lda))
	rows, columns = choose(g.tb, g.n, g.k), choose(g.tb, g.k, g.n)
	o.ldb = columns + 2*g.pad
	o.b = uniformSlice[T](r, matrixLength(rows, columns, o.ldb))
	o.ldc = g.n + 3*g.pad
	o.c = uniformSlice[T](r, matrixLength(g.m, g.n, o.ldc))
	return o
}

func (o *operands[T]) run(g *Gemm[T], p *Pool) {
	g.Run(p, o.ta, o.tb, o.m, o.n, o.k, T(o.alpha), o.a, o.lda, o.b, o.ldb, T(o.beta), o.c, o.ldc)
}

func (o *operands[T]) runSerial(g *Gemm[T]) {
	g.Run(nil, o.ta, o.tb, o.m, o.n, o.k, T(o.alpha), o.a, o.lda, o.b, o.ldb, T(o.beta), o.c, o.ldc)
}

// want returns the product in float64, and the product of magnitudes, for the present content of C.
func (o *operands[T]) want() (value, magnitude []float64) {
	value, magnitude = make([]float64, len(o.c)), make([]float64, len(o.c))
	for i := range o.c {
		value[i] = float64(o.c[i])
	}
	for i := range o.m {
		for j := range o.n {
			var s, abs float64
			for p := range o.k {
				x := float64(o.a[choose(o.ta, p*o.lda+i, i*o.lda+p)])
				y := float64(o.b[choose(o.tb, j*o.ldb+p, p*o.ldb+j)])
				s += x * y
				abs += math.Abs(x * y)
			}
			at := i*o.ldc + j
			old := 0.0
			if o.beta != 0 {
				old = o.beta * float64(o.c[at])
			}
			value[at] = o.alpha*s + old
			magnitude[at] = math.Abs(o.alpha)*abs + math.Abs(old)
		}
	}
	return value, magnitude
}

// unitRoundoff returns half the distance from 1 to the next T.
func unitRoundoff[T Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}

// requireClose checks that every element is within a small multiple of its sum's possible rounding
// error; between the rows of C (magnitude 0) nothing may have changed.
func requireClose[T Float](t *testing.T, what fmt.Stringer, got []T, value, magnitude []float64, k int) {
	t.Helper()
	bound := (4 + math.Sqrt(float64(k))) * unitRoundoff[T]()
	for i := range got {
		if !(math.Abs(float64(got[i])-value[i]) <= bound*magnitude[i]) {
			require.Failf(t, "wrong element", "%v: at %d want %g, got %g (bound %g)", what, i, value[i], got[i], bound*magnitude[i])
		}
	}
}

// gemmShapes are sizes m, n, k: one, odd ones, and sizes near the edges of tiles and blocks.
var gemmShapes = [][3]int{
	{1, 1, 1}, {2, 3, 1}, {3, 2, 5}, {3, 5, 7}, {14, 32, 16}, {15, 33, 17}, {13, 31, 9}, {6, 16, 3},
	{7, 17, 300}, {12, 64, 32}, {32, 64, 12}, {64, 64, 64}, {29, 97, 33}, {100, 96, 64}, {129, 12, 32},
	{1, 300, 70}, {300, 1, 70}, {28, 130, 40}, {5, 1, 77}, {3, 1100, 20}, {16, 17, 2000},
	{257, 67, 401}, {32, 48, 1500}, {60, 110, 801}, {230, 33, 520}, {48, 16, 2000}, // the last are long
}

func gemmShapesToTest(t *testing.T) [][3]int {
	if longtest.Enabled() {
		return gemmShapes
	}
	return gemmShapes[:21]
}

// gemmVariants returns the calls with which a shape is tested: every form with every scale; for
// large shapes, each form with one scale.
func gemmVariants(s [3]int) []gemmCase {
	scales := [][2]float64{{1, 0}, {1, 1}, {0.5, -0.75}, {0, 2}}
	var list []gemmCase
	for form := range 4 {
		for i, scale := range scales {
			if s[0]*s[1]*s[2] > 1<<17 && i != (form+s[0])%len(scales) {
				continue
			}
			list = append(list, gemmCase{s[0], s[1], s[2], form&1 == 1, form&2 == 2, scale[0], scale[1], i})
		}
	}
	return list
}

func testGemm[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		parallel, serial := &Gemm[T]{path: p}, &Gemm[T]{path: p}
		for _, s := range gemmShapesToTest(t) {
			for _, g := range gemmVariants(s) {
				o := makeOperands[T](g)
				before := append([]T(nil), o.c...)
				value, magnitude := o.want()
				o.run(parallel, pool)
				requireClose(t, g, o.c, value, magnitude, g.k)
				copy(o.c, before)
				o.runSerial(serial)
				requireClose(t, g, o.c, value, magnitude, g.k)
			}
		}
	})
}

func TestGemm(t *testing.T) {
	testGemm[float32](t)
	testGemm[float64](t)
}

func TestGemmEmpty(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		g := &Gemm[float32]{path: p}
		g.Run(nil, false, false, 0, 5, 3, 1, nil, 3, nil, 5, 0, nil, 5)
		g.Run(nil, true, true, 5, 0, 3, 1, nil, 5, nil, 3, 0, nil, 1)
		c := []float32{1, 2, 3, 4, 5, 6}
		g.Run(nil, false, false, 2, 2, 0, 1, nil, 1, nil, 2, 2, c, 3)
		assert.Equal(t, []float32{2, 4, 3, 8, 10, 6}, c)
		nan := float32(math.NaN())
		c = []float32{nan, nan, 3, nan, nan}
		g.Run(nil, false, false, 2, 2, 0, 1, nil, 1, nil, 2, 0, c, 3)
		assert.Equal(t, []float32{0, 0, 3, 0, 0}, c)
	})
}

func TestGemmZeroBetaIgnoresC(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, zero := range []float64{0, math.Copysign(0, -1)} {
			for _, s := range [][3]int{{3, 5, 2}, {33, 50, 20}, {64, 200, 700}, {40, 40, 3000}} {
				o := makeOperands[float32](gemmCase{m: s[0], n: s[1], k: s[2], alpha: 1, beta: zero})
				value, magnitude := o.want()
				for i := range o.c {
					o.c[i] = float32(math.NaN())
				}
				o.run(&Gemm[float32]{path: p}, nil)
				requireClose(t, o, o.c, value, magnitude, o.k)
			}
		}
	})
}

func TestGemmSpreadsNaN(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		o := makeOperands[float32](gemmCase{m: 40, n: 70, k: 30, alpha: 0, beta: 1})
		o.a[7*o.lda+3] = float32(math.NaN())
		o.run(&Gemm[float32]{path: p}, nil)
		for i, v := range o.c {
			require.Equal(t, i/o.ldc == 7, math.IsNaN(float64(v)), "element %d", i)
		}
	})
}

func TestGemmRefusesShortSlices(t *testing.T) {
	ok := make([]float32, 100)
	for _, short := range [][3][]float32{{ok[:19], ok, ok}, {ok, ok[:29], ok}, {ok, ok, ok[:23]}, {nil, ok, ok}} {
		assert.Panics(t, func() {
			new(Gemm[float32]).Run(nil, false, false, 4, 6, 5, 1, short[0], 5, short[1], 6, 0, short[2], 6)
		})
	}
	assert.Panics(t, func() { new(Gemm[float32]).Run(nil, false, false, 4, 6, 5, 1, ok, 4, ok, 6, 0, ok, 6) })
	assert.Panics(t, func() { new(Gemm[float32]).Run(nil, false, false, -1, 6, 5, 1, ok, 5, ok, 6, 0, ok, 6) })
}

// TestGemmFastMatchesPortable compares long sums on the different paths.
func TestGemmFastMatchesPortable(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for form := range 4 {
			g := gemmCase{m: 70, n: 110, k: 1100, ta: form&1 == 1, tb: form&2 == 2, alpha: 1, pad: 1}
			fast, slow := makeOperands[float32](g), makeOperands[float32](g)
			_, magnitude := fast.want()
			fast.run(&Gemm[float32]{path: p}, nil)
			slow.run(&Gemm[float32]{path: portable}, nil)
			value := make([]float64, len(slow.c))
			for i := range value {
				value[i] = float64(slow.c[i])
			}
			requireClose(t, g, fast.c, value, magnitude, g.k)
		}
	})
}

func TestGemmSameBitsForAnyThreads(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, path path) {
		for _, s := range [][3]int{{200, 300, 100}, {40, 50, 20000}, {1, 999, 300}, {256, 6, 3000}} {
			for form := range 4 {
				if form > 0 && s[2] > 10000 && !longtest.Enabled() {
					continue
				}
				requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
					o := makeOperands[float32](gemmCase{m: s[0], n: s[1], k: s[2], ta: form&1 == 1, tb: form&2 == 2, alpha: 1, beta: 1})
					o.run(&Gemm[float32]{path: path}, p)
					return [][]float32{o.c}
				})
			}
		}
	})
}

func TestGemmAllocatesNothingWarm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[float32](t, func(t *testing.T, p path) {
		g, serial := &Gemm[float32]{path: p}, &Gemm[float32]{path: p}
		for _, s := range [][3]int{{200, 300, 100}, {64, 64, 64}, {40, 50, 20000}} {
			o := makeOperands[float32](gemmCase{m: s[0], n: s[1], k: s[2], tb: true, alpha: 1})
			assert.Zero(t, testing.AllocsPerRun(3, func() { o.run(g, pool) }), s)
			assert.Zero(t, testing.AllocsPerRun(3, func() { o.run(g, nil) }), s)
			assert.Zero(t, testing.AllocsPerRun(3, func() { o.runSerial(serial) }), s)
		}
	})
}

// TestGemmLower: with lower set, entries on and below the diagonal have the same bits as in the
// whole product, added to an addend or to what C holds, with any number of threads.
func TestGemmLower(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, threads := range []int{1, 3} {
			for _, g := range []gemmCase{{m: 130, n: 130, k: 70, alpha: 1}, {m: 97, n: 97, k: 400, tb: true, alpha: 2, beta: -0.5}, {m: 130, n: 130, k: 60, ta: true, alpha: 1, beta: 1}, {m: 4, n: 97, k: 8, alpha: 1, beta: 1}} {
				for _, added := range []bool{false, true} {
					whole, lower := makeOperands[float32](g), makeOperands[float32](g)
					pool := NewPool(threads)
					defer pool.Close()
					gemm := Gemm[float32]{path: p}
					whole.run(&gemm, pool)
					gemm.lower = true
					if added {
						gemm.addend = slices.Clone(lower.c)
						for i := range lower.c {
							lower.c[i] = 7
						}
					}
					lower.run(&gemm, pool)
					for i := range g.m {
						require.Equal(t, whole.c[i*whole.ldc:][:i+1], lower.c[i*lower.ldc:][:i+1], "%v, %d threads, row %d", g, threads, i)
					}
				}
			}
		}
	})
}

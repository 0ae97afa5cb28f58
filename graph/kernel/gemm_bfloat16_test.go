package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// pairOperands holds the matrices of a call in bfloat16; o.a and o.b hold the same values as
// float32. c is C in bfloat16, o.c in float32.
type pairOperands struct {
	operands[float32]
	a, b, c []BFloat16
}

func makePairOperands(g gemmCase) *pairOperands {
	o := &pairOperands{operands: *makeOperands[float32](g)}
	rounded := func(s []float32) []BFloat16 {
		r := make([]BFloat16, len(s))
		RoundBFloat16(r, s)
		widenBFloat16(machinePath, s, r)
		return r
	}
	o.a, o.b, o.c = rounded(o.operands.a), rounded(o.operands.b), rounded(o.operands.c)
	return o
}

// runSingle computes C in float32 from a copy of o.c.
func (o *pairOperands) runSingle(g *GemmBFloat16[float32], p *Pool) []float32 {
	c := slices.Clone(o.operands.c)
	g.Run(p, o.ta, o.tb, o.m, o.n, o.k, float32(o.alpha), o.a, o.lda, o.b, o.ldb, float32(o.beta), c, o.ldc)
	return c
}

// runHalf computes C in bfloat16 from a copy of o.c.
func (o *pairOperands) runHalf(g *GemmBFloat16[BFloat16], p *Pool) []BFloat16 {
	c := slices.Clone(o.c)
	g.Run(p, o.ta, o.tb, o.m, o.n, o.k, float32(o.alpha), o.a, o.lda, o.b, o.ldb, float32(o.beta), c, o.ldc)
	return c
}

// rounds rounds the elements of C, but not what lies between its rows.
func (o *pairOperands) rounds(c []float32) []BFloat16 {
	r := make([]BFloat16, len(c))
	RoundBFloat16(r, c)
	return r
}

// TestGemmBFloat16 compares every form, on every path, with a float64 product, a C of bfloat16 with
// the rounded one of float32, and the paths with each other.
func TestGemmBFloat16(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	type group struct {
		gemmCase
		tiles bool
	}
	first := map[group][]float32{}
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		single, half := &GemmBFloat16[float32]{path: p}, &GemmBFloat16[BFloat16]{path: p}
		for _, s := range gemmShapesToTest(t) {
			for _, g := range gemmVariants(s) {
				o := makePairOperands(g)
				value, magnitude := o.want()
				got := o.runSingle(single, pool)
				requireClose(t, g, got, value, magnitude, g.k)
				requireSameFloats(t, got, o.runSingle(&GemmBFloat16[float32]{path: p}, nil), g)
				bits := group{g, p == amx}
				if first[bits] == nil {
					first[bits] = got
				}
				requireSameFloats(t, first[bits], got, g)
				require.Equal(t, o.rounds(got), o.runHalf(half, pool), "%v", g)
				require.Equal(t, o.rounds(got), o.runHalf(half, nil), "%v", g)
			}
		}
	})
}

// TestGemmBFloat16CutsK repeats TestGemmBFloat16 for sizes where sums are cut, with k even and odd,
// and where blocks of A have few rows and blocks of B few columns.
func TestGemmBFloat16CutsK(t *testing.T) {
	shapes := [][3]int{{15, 35, 2 * pairBlockK}, {3, 40, 2*pairBlockK + 1}, {17, 9, 769}, {130, 33, pairBlockA / 40}, {2, 600, 9000}}
	var want [][]float32
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		i := 0
		for _, s := range shapes {
			if !longtest.Enabled() && s[0]*s[1]*s[2] > 1<<20 {
				continue
			}
			for form := range 4 {
				o := makePairOperands(gemmCase{s[0], s[1], s[2], form&1 == 1, form&2 == 2, 0.75, 1, form})
				value, magnitude := o.operands.want()
				got := o.runSingle(&GemmBFloat16[float32]{path: p}, nil)
				requireClose(t, o, got, value, magnitude, o.k)
				if p == portable || p == amx {
					want = append(want[:i:i], got)
				}
				requireSameFloats(t, want[i], got, o)
				i++
			}
		}
	})
}

// TestGemmBFloat16SpecialValues: denormals count as zero, infinities and NaN spread, on every path.
func TestGemmBFloat16SpecialValues(t *testing.T) {
	var want []float32
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		o := makePairOperands(gemmCase{m: 20, n: 70, k: 31, alpha: 1, beta: 1})
		o.a[3*o.lda+1] = 0x7f80 // infinite
		o.b[4*o.ldb+9] = 0x7fc0 // NaN
		for i := range o.k {    // a row of denormals
			o.a[7*o.lda+i] = 0x8001 + BFloat16(i)
		}
		got := o.runSingle(&GemmBFloat16[float32]{path: p}, nil)
		assert.True(t, math.IsNaN(float64(got[5*o.ldc+9])))
		assert.True(t, math.IsInf(float64(got[3*o.ldc+1]), 0))
		assert.Equal(t, o.operands.c[7*o.ldc:7*o.ldc+9], got[7*o.ldc:7*o.ldc+9])
		if want == nil || p == amx {
			want = got
		}
		requireSameFloats(t, want, got, p)
		half := o.runHalf(&GemmBFloat16[BFloat16]{path: p}, nil)
		assert.True(t, math.IsNaN(float64(half[5*o.ldc+9].Float32())))
		assert.True(t, math.IsInf(float64(half[3*o.ldc+1].Float32()), 0))
	})
}

func TestGemmBFloat16Empty(t *testing.T) {
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		g, half := &GemmBFloat16[float32]{path: p}, &GemmBFloat16[BFloat16]{path: p}
		g.Run(nil, false, false, 0, 5, 3, 1, nil, 3, nil, 5, 0, nil, 5)
		g.Run(nil, true, true, 5, 0, 3, 1, nil, 5, nil, 3, 0, nil, 1)
		c := []float32{1, 2, 3, 4, 5, 6}
		g.Run(nil, false, false, 2, 2, 0, 1, nil, 1, nil, 2, 2, c, 3)
		assert.Equal(t, []float32{2, 4, 3, 8, 10, 6}, c)
		h := []BFloat16{toBFloat16(1), toBFloat16(2), toBFloat16(3)}
		half.Run(nil, false, false, 1, 2, 0, 1, nil, 1, nil, 2, 2, h, 3)
		assert.Equal(t, []BFloat16{toBFloat16(2), toBFloat16(4), toBFloat16(3)}, h)
		h[0] = 0x7fc0
		half.Run(nil, false, false, 1, 2, 0, 1, nil, 1, nil, 2, 0, h, 3)
		assert.Equal(t, []BFloat16{0, 0, toBFloat16(3)}, h)
	})
}

func TestGemmBFloat16ZeroBetaIgnoresC(t *testing.T) {
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		for _, zero := range []float64{0, math.Copysign(0, -1)} {
			for _, s := range [][3]int{{3, 5, 2}, {33, 50, 21}, {20, 40, 1700}} {
				o := makePairOperands(gemmCase{m: s[0], n: s[1], k: s[2], alpha: 1, beta: zero})
				value, magnitude := o.want()
				for i := range o.c {
					o.c[i], o.operands.c[i] = 0x7fc0, float32(math.NaN())
				}
				got := o.runSingle(&GemmBFloat16[float32]{path: p}, nil)
				requireClose(t, o, got, value, magnitude, o.k)
				require.Equal(t, o.rounds(got), o.runHalf(&GemmBFloat16[BFloat16]{path: p}, nil))
			}
		}
	})
}

func TestGemmBFloat16RefusesShortSlices(t *testing.T) {
	ok, c := make([]BFloat16, 100), make([]float32, 24)
	run := func(a, b []BFloat16, lda int, c []float32) func() {
		return func() { new(GemmBFloat16[float32]).Run(nil, false, false, 4, 6, 5, 1, a, lda, b, 6, 0, c, 6) }
	}
	assert.NotPanics(t, run(ok[:20], ok[:30], 5, c))
	for _, f := range []func(){run(ok[:19], ok, 5, c), run(ok, ok[:29], 5, c), run(ok, ok, 5, c[:23]), run(ok, ok, 4, c), run(nil, ok, 5, c)} {
		assert.Panics(t, f)
	}
	var w WeightsBFloat16
	assert.Panics(t, func() { w.Pack(nil, true, 6, 5, ok[:29], 5) })
	assert.Panics(t, func() { w.PackFloat32(nil, false, 6, 5, c, 6) })
}

func TestGemmBFloat16SameBitsForAnyThreads(t *testing.T) {
	forEachBFloat16Path(t, func(t *testing.T, path path) {
		for _, s := range [][3]int{{200, 300, 100}, {30, 50, 3000}, {1, 999, 300}, {256, 6, 900}} {
			if path == portable && s[0]*s[1]*s[2] > 1<<21 {
				continue
			}
			for form := range 4 {
				o := makePairOperands(gemmCase{m: s[0], n: s[1], k: s[2], ta: form&1 == 1, tb: form&2 == 2, alpha: 1, beta: 1})
				requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
					return [][]float32{o.runSingle(&GemmBFloat16[float32]{path: path}, p)}
				})
			}
		}
	})
}

// TestPackedBFloat16: products with a packed matrix, packed from bfloat16 or float32, whole or in
// parts of its columns and rows, have the same bits as the product that packs for itself.
func TestPackedBFloat16(t *testing.T) {
	pool := NewPool(3)
	defer pool.Close()
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		for _, s := range [][3]int{{5, 7, 3}, {33, 100, 41}, {20, 130, 64}, {9, 97, 1601}} {
			for form := range 4 {
				o := makePairOperands(gemmCase{m: s[0], n: s[1], k: s[2], ta: form&1 == 1, tb: form&2 == 2, alpha: 1, beta: 1, pad: form})
				want := o.runSingle(&GemmBFloat16[float32]{path: p}, pool)
				g := &GemmBFloat16[float32]{path: p}
				half, floats := &WeightsBFloat16{path: p}, &WeightsBFloat16{path: p}
				for _, b := range []PackedBFloat16{
					half.Pack(pool, o.tb, o.n, o.k, o.b, o.ldb), floats.PackFloat32(nil, o.tb, o.n, o.k, o.operands.b, o.ldb),
				} {
					got := slices.Clone(o.operands.c)
					g.RunPacked(pool, o.ta, o.m, 1, o.a, o.lda, b, 1, got, o.ldc)
					requireSameFloats(t, want, got, o)
					got = slices.Clone(o.operands.c)
					for j := 0; j < o.n; j += bfloat16Panel {
						end := min(o.n, j+bfloat16Panel)
						g.RunPacked(pool, o.ta, o.m, 1, o.a, o.lda, b.Part(0, o.k, j, end), 1, got[j:], o.ldc)
					}
					requireSameFloats(t, want, got, o)
					requirePackedRows(t, o, g, b)
				}
			}
		}
	})
}

// requirePackedRows compares the product with some rows of the packed b with the product with a b
// of only these rows.
func requirePackedRows(t *testing.T, o *pairOperands, g *GemmBFloat16[float32], b PackedBFloat16) {
	t.Helper()
	const first = 32
	if o.k <= first {
		return
	}
	part := *o
	part.k -= first
	part.a, part.b = o.a[choose(o.ta, first*o.lda, first):], o.b[choose(o.tb, first, first*o.ldb):]
	want, got := part.runSingle(g, nil), slices.Clone(o.operands.c)
	g.RunPacked(nil, o.ta, o.m, 1, part.a, o.lda, b.Part(first, o.k, 0, o.n), 1, got, o.ldc)
	requireSameFloats(t, want, got, o)
}

// TestGemmBFloat16Epilogue: every element of C is reported exactly once, when it is final.
func TestGemmBFloat16Epilogue(t *testing.T) {
	for _, d := range [][3]int{{1, 1, 1}, {5, 7, 0}, {300, 17, 33}, {260, 2100, 80}, {32, 32, 2000}, {20, 700, 1700}} {
		for i := range 6 {
			threads, on := 1+i/2, []path{fastest, amx}[i%2]
			if on == amx && machinePairs != amx && d[0]*d[1]*d[2] > 1<<25 {
				continue
			}
			t.Run(fmt.Sprint(d, threads, on), func(t *testing.T) {
				o := makePairOperands(gemmCase{m: d[0], n: d[1], k: d[2], alpha: 1})
				p := NewPool(threads)
				defer p.Close()
				got := make([]float32, o.m*o.n)
				e := &counter{n: o.n, seen: make([]int, o.m*o.n), c: got, want: o.runSingle(&GemmBFloat16[float32]{path: on}, p)}
				g := &GemmBFloat16[float32]{Epilogue: e, path: on}
				g.Run(p, false, false, o.m, o.n, o.k, 1, o.a, o.lda, o.b, o.ldb, 0, got, o.n)
				require.Zero(t, e.bad, "reported before it was final")
				require.Equal(t, slices.Repeat([]int{1}, o.m*o.n), e.seen, "each element is reported once")
			})
		}
	}
}

func TestGemmBFloat16AllocatesNothingWarm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	for _, s := range [][3]int{{200, 300, 100}, {64, 64, 64}, {40, 50, 20000}} {
		o := makePairOperands(gemmCase{m: s[0], n: s[1], k: s[2], tb: true, alpha: 1})
		g, serial := &GemmBFloat16[BFloat16]{}, &GemmBFloat16[float32]{}
		var w WeightsBFloat16
		c := slices.Clone(o.operands.c)
		assert.Zero(t, testing.AllocsPerRun(3, func() {
			g.Run(pool, o.ta, o.tb, o.m, o.n, o.k, 1, o.a, o.lda, o.b, o.ldb, 0, o.c, o.ldc)
		}), s)
		assert.Zero(t, testing.AllocsPerRun(3, func() {
			serial.RunPacked(nil, o.ta, o.m, 1, o.a, o.lda, w.PackFloat32(nil, o.tb, o.n, o.k, o.operands.b, o.ldb), 0, c, o.ldc)
		}), s)
	}
}

// TestGemmBFloat16Lower: with lower set, entries on and below the diagonal have the same bits as in
// the whole product, added to an addend or to what C holds, with any number of threads.
func TestGemmBFloat16Lower(t *testing.T) {
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		for _, threads := range []int{1, 3} {
			for _, g := range []gemmCase{{m: 130, n: 130, k: 70, alpha: 1}, {m: 97, n: 97, k: 1100, tb: true, alpha: 2, beta: -0.5}, {m: 70, n: 70, k: 61, ta: true, alpha: 1, beta: 1}} {
				o := makeOperands[float32](g)
				x, y := make([]BFloat16, len(o.a)), make([]BFloat16, len(o.b))
				RoundBFloat16(x, o.a)
				RoundBFloat16(y, o.b)
				pool := NewPool(threads)
				defer pool.Close()
				product := func(gemm GemmBFloat16[float32], c []float32) []float32 {
					gemm.path = p
					gemm.Run(pool, g.ta, g.tb, g.m, g.n, g.k, float32(g.alpha), x, o.lda, y, o.ldb, float32(g.beta), c, o.ldc)
					return c
				}
				whole := product(GemmBFloat16[float32]{}, slices.Clone(o.c))
				lower := product(GemmBFloat16[float32]{lower: true}, slices.Clone(o.c))
				added := product(GemmBFloat16[float32]{lower: true, addend: o.c}, make([]float32, len(o.c)))
				for i := range g.m {
					requireSameFloats(t, whole[i*o.ldc:][:i+1], lower[i*o.ldc:][:i+1], g)
					requireSameFloats(t, whole[i*o.ldc:][:i+1], added[i*o.ldc:][:i+1], g)
				}
			}
		}
	})
}

package kernel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// tileSum returns element (i, j) of a product as path amx defines it: elements beyond k are zeros.
func (o *pairOperands) tileSum(i, j int, c float32) float32 {
	for p := 0; p < o.k; p += tileK {
		var a, b [tileK]BFloat16
		for r := range min(tileK, o.k-p) {
			a[r] = o.a[choose(o.ta, (p+r)*o.lda+i, i*o.lda+p+r)]
			b[r] = o.b[choose(o.tb, j*o.ldb+p+r, (p+r)*o.ldb+j)]
		}
		c = sumTiles(c, (*[2]BFloat16)(a[:]), (*[2]BFloat16)(b[:]), 4)
	}
	return c
}

// tileProduct returns C as path amx defines it, with d multiplied by beta.
func (o *pairOperands) tileProduct(d []float32) []float32 {
	c := slices.Clone(o.operands.c)
	for i := range o.m {
		for j := range o.n {
			at := i*o.ldc + j
			if o.alpha == 1 && o.beta == 1 {
				c[at] = o.tileSum(i, j, d[at])
				continue
			}
			c[at] = float32(o.alpha) * o.tileSum(i, j, 0)
			if o.beta != 0 {
				addMultiple(machinePath, c[at:at+1], d[at:at+1], float32(o.beta))
			}
		}
	}
	return c
}

// TestTileProducts compares products on path amx with the definition, bit by bit: all forms, A in
// place and packed, k whole and not and in several parts, narrow and wide, with an addend, on one
// thread and three, with B packed before.
func TestTileProducts(t *testing.T) {
	pool := NewPool(3)
	defer pool.Close()
	shapes := [][3]int{{1, 1, 1}, {16, 32, 32}, {17, 15, 33}, {33, 31, 31}, {5, 100, 77}, {70, 33, 257}, {65, 290, 130}, {40, 70, 1057}, {200, 64, 64}, {50, 20, 512}, {48, 48, 1600}, {17, 1100, 512}}
	if longtest.Exhaustive() {
		shapes = append(shapes, [3]int{300, 700, 40}, [3]int{40, 700, 1700}, [3]int{4100, 20, 40})
	}
	for _, s := range shapes {
		for form := range 8 {
			g := gemmCase{s[0], s[1], s[2], form&1 != 0, form&2 != 0, 1, float64(form >> 2), form % 4}
			if form == 6 {
				g.alpha, g.beta = 0.75, -0.5
			}
			if form == 4 { // rows of A at a distance at which they are packed
				g.pad = max(0, 2048-g.k)
			}
			o := makePairOperands(g)
			d := slices.Clone(o.operands.c)
			for i := range d {
				d[i] += 1.0 / 64
			}
			want, added := o.tileProduct(o.operands.c), o.tileProduct(d)
			requireSameFloats(t, want, o.runSingle(&GemmBFloat16[float32]{path: amx}, nil), g)
			requireSameFloats(t, want, o.runSingle(&GemmBFloat16[float32]{path: amx}, pool), g)
			requireSameFloats(t, added, o.runSingle(&GemmBFloat16[float32]{path: amx, addend: d}, pool), g)
			require.Equal(t, o.rounds(want), o.runHalf(&GemmBFloat16[BFloat16]{path: amx}, pool), "%v", g)
			packed := (&WeightsBFloat16{path: amx}).Pack(pool, g.tb, g.n, g.k, o.b, o.ldb)
			got := slices.Clone(o.operands.c)
			(&GemmBFloat16[float32]{path: amx}).RunPacked(pool, g.ta, g.m, float32(g.alpha), o.a, o.lda, packed, float32(g.beta), got, o.ldc)
			requireSameFloats(t, want, got, g)
		}
	}
}

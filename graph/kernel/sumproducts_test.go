package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestSumProductsLayout checks that sumProductsTile[float32] has the layout that internal/asmgen
// writes into the assembly.
func TestSumProductsLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x sumProductsTile[float32]
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.out), unsafe.Offsetof(x.addend), unsafe.Offsetof(x.a), unsafe.Offsetof(x.as), unsafe.Offsetof(x.b),
		unsafe.Offsetof(x.bs), unsafe.Offsetof(x.rows), unsafe.Offsetof(x.n),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
}

// TestSumProducts compares sums of products with float64, at widths with and without whole panels,
// and AVX-512's with AVX2's, bit for bit. It checks that the elements around the sum do not change.
func TestSumProducts(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		rng := rand.New(rand.NewSource(1))
		for _, n := range []int{1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 75, 256} {
			for rows := range 6 {
				as, bs := n+rng.Intn(9), n*rng.Intn(2)
				a, b := floats32(rng, 6*as+n), floats32(rng, 6*bs+n)
				space := floats32(rng, n+2)
				for _, addend := range [][]float32{nil, floats32(rng, n), space[1 : n+1]} {
					before, want := append([]float32(nil), space...), make([]float64, n)
					for j := range want {
						if addend != nil {
							want[j] = float64(addend[j])
						}
						for i := range rows {
							want[j] += float64(a[i*as+j]) * float64(b[i*bs+j])
						}
					}
					narrow := append([]float32(nil), space...)
					if p == avx512 {
						other := addend
						if addend != nil && &addend[0] == &space[1] {
							other = narrow[1 : n+1]
						}
						sumProducts(avx2, narrow[1:n+1], other, a, as, b, bs, rows)
					}
					sumProducts(p, space[1:n+1], addend, a, as, b, bs, rows)
					if p == avx512 {
						assert.Equal(t, narrow, space, fmt.Sprint(n, rows, addend == nil))
					}
					for j, v := range want {
						assert.InDelta(t, v, space[1+j], 1e-6*(1+math.Abs(v)), fmt.Sprint(n, rows, addend == nil))
					}
					assert.Equal(t, before[0], space[0])
					assert.Equal(t, before[n+1], space[n+1])
				}
			}
		}
	})
}

// floats32 returns n normal variates.
func floats32(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

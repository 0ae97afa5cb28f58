package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDivide checks how typical products are divided.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		m, n, k, threads int
		want             division
	}{
		{16, 16, 16, 4, division{1, 1}},       // too small
		{4096, 64, 64, 4, division{4, 1}},     // tall: A is read once
		{1, 4096, 768, 4, division{1, 4}},     // one row
		{2048, 2048, 768, 4, division{2, 2}},  // square: least packing
		{2048, 2048, 768, 3, division{3, 1}},  // a prime number
		{32, 48, 65536, 4, division{4, 1}},    // long sums, for the gradient of a weight: k is not divided
		{768, 3072, 2048, 2, division{1, 2}},  // wide
		{65536, 8, 8, 4, division{4, 1}},      // less than a panel
		{2048, 2048, 768, 1, division{1, 1}},  // nobody to share with
		{2048, 2048, 0, 4, division{1, 1}},    // no sum at all
		{3, 100000, 20, 4, division{1, 4}},    // rows are too few
		{2048, 40, 768, 16, division{16, 1}},  // panels are too few
		{64, 64, 65536, 128, division{64, 2}}, // more threads than rows
	} {
		q := product[float32]{m: c.m, n: c.n, k: c.k, ta: c.k > c.m*c.n}
		assert.Equal(t, c.want, q.divide(c.threads, &avx512Kernels), "%+v", c)
	}
}

// TestGemmDivided checks products divided among any number of threads.
func TestGemmDivided(t *testing.T) {
	for _, threads := range []int{2, 3, 5, 8} {
		pool := NewPool(threads)
		defer pool.Close()
		forEachPath[float32](t, func(t *testing.T, p path) {
			for _, s := range [][3]int{{70, 90, 50}, {1, 300, 900}, {300, 1, 900}, {20, 30, 4000}, {5, 200, 300}} {
				for form := range 4 {
					o := makeOperands[float32](gemmCase{s[0], s[1], s[2], form&1 == 1, form&2 == 2, 0.5, -1, 3})
					value, magnitude := o.want()
					g := &Gemm[float32]{path: p}
					o.run(g, pool)
					requireClose(t, o, o.c, value, magnitude, o.k)
				}
			}
		})
	}
}

// TestPortableDividesSmallProducts checks that the slow micro-kernels divide smaller products.
func TestPortableDividesSmallProducts(t *testing.T) {
	q := product[float64]{m: 40, n: 40, k: 40}
	assert.Equal(t, 2, q.divide(2, &portableKernels).parts())
	assert.Equal(t, 1, q.divide(2, &avx512Kernels).parts())
}

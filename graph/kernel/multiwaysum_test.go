package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMultiwaySum(t *testing.T) {
	testMultiwaySum[float32](t, 5e-6)
	testMultiwaySum[float64](t, 1e-12)
}

// testMultiwaySum compares with sums by plain loops, for gradients of all sums and of some, and in
// place.
func testMultiwaySum[T Float](t *testing.T, tolerance float64) {
	forEachPath[T](t, func(t *testing.T, p path) {
		for _, d := range []MultiwaySumParams{{1, 1, 1, 1}, {0, 3, 2, 2}, {7, 13, 3, 4}, {5, 64, 2, 4}, {3, 33, 6, 1}, {4, 101, 5, 2}} {
			for threads := 1; threads <= 2; threads++ {
				pool := NewPool(threads)
				for _, parts := range []string{"both", "packed", "last"} {
					if parts == "packed" && d.Ways == 1 {
						continue
					}
					newMultiwayCase[T](d, parts).check(t, &MultiwaySum[T]{path: p}, pool, tolerance)
				}
				pool.Close()
			}
		}
	})
}

// multiwayCase holds the inputs of one MultiwaySum, and its expected results.
type multiwayCase[T Float] struct {
	d                               MultiwaySumParams
	a, packed, last, addend, old    []T
	x                               [][]T
	wantPacked, wantLast, wantA, dx []float64
}

func newMultiwayCase[T Float](d MultiwaySumParams, parts string) multiwayCase[T] {
	size, packed := d.Tokens*d.Width, d.Ways-1
	c := multiwayCase[T]{d: d, a: normals[T](1, d.Tokens*d.Ways*d.Terms, 1), addend: normals[T](3, size, 1), old: normals[T](4, d.Tokens*d.Ways*d.Terms, 1)}
	if parts != "last" && packed > 0 {
		c.packed = normals[T](5, size*packed, 1)
	}
	if parts != "packed" {
		c.last = normals[T](6, size, 1)
	}
	for i := range c.a {
		if i%5 == 2 {
			c.a[i] = 0
		}
	}
	for j := range d.Terms {
		c.x = append(c.x, normals[T](uint64(10+j), size, 1))
	}
	c.wantPacked, c.wantLast, c.wantA, c.dx = make([]float64, size*packed), make([]float64, size), widen(c.old), widen(c.addend)
	for t := range d.Tokens {
		for way := range d.Ways {
			for j := range d.Terms {
				e := (t*d.Ways+way)*d.Terms + j
				for i := range d.Width {
					x, dy := float64(c.x[j][t*d.Width+i]), 0.0
					if way < packed {
						at := (t*packed+way)*d.Width + i
						c.wantPacked[at] += float64(c.a[e]) * x
						if c.packed != nil {
							dy = float64(c.packed[at])
						}
					} else {
						c.wantLast[t*d.Width+i] += float64(c.a[e]) * x
						if c.last != nil {
							dy = float64(c.last[t*d.Width+i])
						}
					}
					c.wantA[e] += dy * x
					if j == d.Terms-1 {
						c.dx[t*d.Width+i] += float64(c.a[e]) * dy
					}
				}
			}
		}
	}
	return c
}

func (c multiwayCase[T]) check(t *testing.T, k *MultiwaySum[T], p *Pool, tolerance float64) {
	d := c.d
	packed, last := unset[T](len(c.wantPacked)), unset[T](len(c.wantLast))
	k.Forward(p, packed, last, c.a, c.x, d)
	requireNear(t, c.wantPacked, packed, tolerance, fmt.Sprintf("packed of %+v", d))
	requireNear(t, c.wantLast, last, tolerance, fmt.Sprintf("last of %+v", d))
	da := slices.Clone(c.old)
	k.Weights(p, da, c.packed, c.last, c.x, true, d)
	requireNear(t, c.wantA, da, tolerance*math.Sqrt(float64(d.Width)), fmt.Sprintf("da of %+v", d))
	fresh := unset[T](len(da))
	k.Weights(p, fresh, c.packed, c.last, c.x, false, d)
	for i, v := range c.old {
		c.wantA[i] -= float64(v)
	}
	requireNear(t, c.wantA, fresh, tolerance*math.Sqrt(float64(d.Width)), fmt.Sprintf("da of %+v", d))
	dx, alone := unset[T](len(c.dx)), unset[T](len(c.dx))
	k.Term(p, dx, c.packed, c.last, c.a, c.addend, d.Terms-1, d)
	requireNear(t, c.dx, dx, tolerance, fmt.Sprintf("dx of %+v", d))
	k.Term(p, alone, c.packed, c.last, c.a, nil, d.Terms-1, d)
	for i, v := range c.addend {
		c.dx[i] -= float64(v)
	}
	requireNear(t, c.dx, alone, tolerance, fmt.Sprintf("dx of %+v without an addend", d))
	k.Term(p, c.addend, c.packed, c.last, c.a, c.addend, d.Terms-1, d)
	require.Equal(t, dx, c.addend, "dx in place of the addend")
}

package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWeightedSum(t *testing.T) {
	testWeightedSum[float32](t, 5e-6)
	testWeightedSum[float64](t, 1e-12)
}

func testWeightedSum[T Float](t *testing.T, tolerance float64) {
	forEachPath[T](t, func(t *testing.T, p path) {
		for _, d := range []WeightedSumParams{{1, 1, 1, false}, {0, 3, 2, false}, {7, 13, 3, false}, {33, 101, 5, false}, {3, 2*weightedBlock + 5, 8, false}, {5, 64, 2, false}} {
			for _, d.Shared = range []bool{false, true} {
				c := newWeightedSumCase[T](d)
				var first []T
				for threads := 1; threads <= 3; threads++ {
					all := c.check(t, p, threads, tolerance)
					if first == nil {
						first = all
					}
					require.Equal(t, first, all, "%+v: the same bits for any thread count", d)
				}
			}
		}
	})
}

// weightedSumCase holds the inputs of one WeightedSum, and its expected results. Some of its
// weights are zero.
type weightedSumCase[T Float] struct {
	d                   WeightedSumParams
	a, dy, addend, old  []T
	x                   [][]T
	wantY, wantA, wantX []float64 // wantX is the gradient of the last tensor, with the addend
}

func newWeightedSumCase[T Float](d WeightedSumParams) weightedSumCase[T] {
	sets := d.Tokens
	if d.Shared {
		sets = 1
	}
	c := weightedSumCase[T]{d: d, a: normals[T](1, sets*d.Terms, 1), dy: normals[T](2, d.size(), 1), addend: normals[T](3, d.size(), 1),
		old: normals[T](4, sets*d.Terms, 1)}
	for i := range c.a {
		if i%5 == 2 {
			c.a[i] = 0
		}
	}
	c.wantY, c.wantA, c.wantX = make([]float64, d.size()), widen(c.old), widen(c.addend)
	for j := range d.Terms {
		x := normals[T](uint64(10+j), d.size(), 1)
		c.x = append(c.x, x)
		for i, v := range x {
			e := j
			if !d.Shared {
				e += i / d.Width * d.Terms
			}
			c.wantY[i] += float64(c.a[e]) * float64(v)
			c.wantA[e] += float64(c.dy[i]) * float64(v)
			if j == d.Terms-1 {
				c.wantX[i] += float64(c.a[e]) * float64(c.dy[i])
			}
		}
	}
	return c
}

// check compares all results, in separate memory and in place, and returns them.
func (c weightedSumCase[T]) check(t *testing.T, p path, threads int, tolerance float64) []T {
	t.Helper()
	pool := NewPool(threads)
	defer pool.Close()
	k, d := WeightedSum[T]{path: p}, c.d
	y, over := unset[T](d.size()), slices.Clone(c.x)
	k.Forward(pool, y, c.a, c.x, d)
	requireNear(t, c.wantY, y, tolerance, fmt.Sprintf("y of %+v", d))
	over[0] = slices.Clone(c.x[0])
	k.Forward(pool, over[0], c.a, over, d)
	require.Equal(t, y, over[0], "y in place of the first tensor")

	da := slices.Clone(c.old)
	k.Weights(pool, da, c.dy, c.x, true, d)
	requireNear(t, c.wantA, da, tolerance*math.Sqrt(float64(d.Width)), fmt.Sprintf("da of %+v", d))

	last := d.Terms - 1
	dx, dy, addend := unset[T](d.size()), slices.Clone(c.dy), slices.Clone(c.addend)
	k.Term(pool, dx, c.dy, c.a, c.addend, last, d)
	requireNear(t, c.wantX, dx, tolerance, fmt.Sprintf("dx of %+v", d))
	k.Term(pool, dy, dy, c.a, c.addend, last, d)
	require.Equal(t, dx, dy, "dx in place of dy")
	k.Term(pool, addend, c.dy, c.a, addend, last, d)
	require.Equal(t, dx, addend, "dx in place of the addend")
	return slices.Concat(y, da, dx)
}

// TestWeightedSumOfOneTensor: with weights of 0 and a single 1 the sum has the same bits as that
// tensor, whatever the others hold.
func TestWeightedSumOfOneTensor(t *testing.T) {
	testOneTensor[float32](t, func(x float32) uint64 { return uint64(math.Float32bits(x)) })
	testOneTensor[float64](t, math.Float64bits)
}

func testOneTensor[T Float](t *testing.T, bits func(T) uint64) {
	forEachPath[T](t, func(t *testing.T, p path) {
		for _, shared := range []bool{false, true} {
			const tokens, width, terms = 3, 21, 4
			d := WeightedSumParams{tokens, width, terms, shared}
			var x [][]T
			for j := range terms {
				x = append(x, normals[T](uint64(j), tokens*width, 1))
				for i := 0; i < tokens*width; i += 3 { // numbers that a sum with products of zero would lose
					x[j][i] = []T{T(math.Copysign(0, -1)), T(math.Inf(1)), 0, T(math.NaN()), 1e-45}[(i+j)%5]
				}
			}
			for one := range terms {
				a := make([]T, tokens*terms)
				for token := range tokens {
					a[token*terms+one] = 1
				}
				k, y := WeightedSum[T]{path: p}, unset[T](tokens*width)
				k.Forward(nil, y, a, x, d)
				for i, v := range y {
					require.Equal(t, bits(x[one][i]), bits(v), "shared=%t, tensor %d, entry %d", shared, one, i)
				}
			}
		}
	})
}

func TestWeightedSumWarmAllocatesNothing(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	for _, shared := range []bool{false, true} {
		d := WeightedSumParams{Tokens: 10, Width: 50, Terms: 3, Shared: shared}
		c := newWeightedSumCase[float32](d)
		var k WeightedSum[float32]
		da := slices.Clone(c.a)
		requireNoAllocations(t, func() {
			k.Forward(p, c.dy, c.a, c.x, d)
			k.Weights(p, da, c.dy, c.x, false, d)
			k.Term(p, c.dy, c.dy, c.a, c.addend, 1, d)
		})
	}
}

package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHadamard(t *testing.T) {
	testHadamard[float32](t, 5e-6)
	testHadamard[float64](t, 1e-13)
}

func testHadamard[T Float](t *testing.T, tolerance float64) {
	forEachPath[T](t, func(t *testing.T, p path) {
		for _, size := range [][2]int{{1, 1}, {0, 3}, {7, 13}, {100, 16}, {33, 101}, {300, 5}} {
			c := newHadamardCase[T](size[0], size[1])
			var first []T
			for threads := 1; threads <= 3; threads++ {
				dgain := c.check(t, p, threads, tolerance)
				if first == nil {
					first = dgain
				}
				require.Equal(t, first, dgain, "%v: the same bits for any thread count", size)
			}
		}
	})
}

// hadamardCase holds the inputs of one Hadamard, and its expected results.
type hadamardCase[T Float] struct {
	rows                     int
	x, gain, dy, addend, old []T
	wantY, wantX, wantGain   []float64
}

func newHadamardCase[T Float](rows, width int) hadamardCase[T] {
	n := rows * width
	c := hadamardCase[T]{rows: rows, x: normals[T](1, n, 1), gain: normals[T](2, width, 1), dy: normals[T](3, n, 1),
		addend: normals[T](4, n, 1), old: normals[T](5, width, 1)}
	c.wantX, c.wantGain = widen(c.addend), widen(c.old)
	for i, v := range c.x {
		g, d := float64(c.gain[i%width]), float64(c.dy[i])
		c.wantY = append(c.wantY, float64(v)*g)
		c.wantX[i] += d * g
		c.wantGain[i%width] += d * float64(v)
	}
	return c
}

// check compares all results, in separate memory and in place, and returns dgain.
func (c hadamardCase[T]) check(t *testing.T, p path, threads int, tolerance float64) []T {
	t.Helper()
	pool := NewPool(threads)
	defer pool.Close()
	k := Hadamard[T]{path: p}
	y, over := unset[T](len(c.x)), slices.Clone(c.x)
	k.Forward(pool, y, c.x, c.gain, c.rows)
	requireNear(t, c.wantY, y, tolerance, fmt.Sprintf("y of %d rows", c.rows))
	k.Forward(pool, over, over, c.gain, c.rows)
	require.Equal(t, y, over, "y in place of x")
	want := slices.Clone(c.wantY)
	for i, v := range c.addend {
		want[i] += float64(v)
	}
	sum, onto := unset[T](len(c.x)), slices.Clone(c.addend)
	k.Add(pool, sum, c.addend, c.x, c.gain, c.rows)
	requireNear(t, want, sum, tolerance, "a sum with y")
	k.Add(pool, onto, onto, c.x, c.gain, c.rows)
	require.Equal(t, sum, onto, "a sum in place")

	backward := func(dx, dgain, dy, addend []T) []T {
		k.Backward(pool, dx, addend, dgain, dy, c.x, c.gain, c.rows, true)
		return dx
	}
	dgain := slices.Clone(c.old)
	dx := backward(unset[T](len(c.x)), dgain, c.dy, c.addend)
	requireNear(t, c.wantX, dx, tolerance, "dx")
	requireNear(t, c.wantGain, dgain, tolerance, "dgain")
	again, dy, addend := slices.Clone(c.old), slices.Clone(c.dy), slices.Clone(c.addend)
	require.Equal(t, dx, backward(dy, again, dy, c.addend), "dx in place of dy")
	require.Equal(t, dgain, again, "dgain with dx in place of dy")
	require.Equal(t, dx, backward(addend, nil, c.dy, addend), "dx in place of the addend, no dgain")
	dy = slices.Clone(c.dy)
	require.Equal(t, backward(unset[T](len(c.x)), nil, c.dy, nil), backward(dy, nil, dy, nil), "dx alone in place of dy")
	return dgain
}

func TestHadamardWarmAllocatesNothing(t *testing.T) {
	x, gain := normals[float32](1, 10*50, 1), normals[float32](2, 50, 1)
	p := NewPool(2)
	defer p.Close()
	var k Hadamard[float32]
	dgain := make([]float32, 50)
	requireNoAllocations(t, func() {
		k.Forward(p, x, x, gain, 10)
		k.Backward(p, x, x, dgain, x, x, gain, 10, false)
	})
}

package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// dotsCase is a product C (+)= A B^T; pad is added to the distance between C's rows.
type dotsCase struct {
	m, n, k, pad int
	add          bool
}

func (s dotsCase) String() string {
	return fmt.Sprintf("%dx%dx%d pad=%d add=%t", s.m, s.n, s.k, s.pad, s.add)
}

// wantDots computes C in float64, with the magnitude of its terms.
func wantDots[T Float](s dotsCase, c, a, b []T) sums {
	want := newSums(len(c))
	for i := range c {
		row, column := i/(s.n+s.pad), i%(s.n+s.pad)
		if s.add || column >= s.n {
			want.add(i, float64(c[i]))
		}
		for x := range s.k {
			if column < s.n {
				want.add(i, float64(a[row*s.k+x])*float64(b[column*s.k+x]))
			}
		}
	}
	return want
}

func testDots[T Float](t *testing.T) {
	forEachPath[T](t, func(t *testing.T, p path) {
		draw := rand.New(rand.NewPCG(1, 2))
		for m := 1; m <= 6; m++ {
			for n := 1; n <= 9; n++ {
				for _, k := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 96, 101} {
					s := dotsCase{m: m, n: n, k: k, pad: draw.IntN(4), add: draw.IntN(2) == 0}
					a, b := uniformSlice[T](draw, m*k), uniformSlice[T](draw, n*k)
					c := uniformSlice[T](draw, (m-1)*(n+s.pad)+n)
					want := wantDots(s, c, a, b)
					x := dots[T]{path: pathOf[T](p), m: m, n: n, k: k, cs: n + s.pad, add: s.add}
					x.run(c, a, b)
					requireClose(t, s, c, want.value, want.magnitude, k)
				}
			}
		}
	})
}

func TestDots(t *testing.T) {
	testDots[float32](t)
	testDots[float64](t)
}

func TestDotsRefuseShortSlices(t *testing.T) {
	x := dots[float32]{path: pathOf[float32](fastest), m: 2, n: 3, k: 5, cs: 4}
	a, b, c := make([]float32, 10), make([]float32, 15), make([]float32, 7)
	x.run(c, a, b)
	require.Panics(t, func() { x.run(c[:6:6], a, b) })
	require.Panics(t, func() { x.run(c, a[:9:9], b) })
	require.Panics(t, func() { x.run(c, a, b[:14:14]) })
}

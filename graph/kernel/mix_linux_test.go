package kernel

import (
	"math/rand/v2"
	"testing"
)

// TestNoAccessOutsideMix runs the kernels of the mixing ops on operands next to forbidden
// pages.
func TestNoAccessOutsideMix(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 8))
	forEachPath[float32](t, func(t *testing.T, p path) {
		for i, s := range combineCases() {
			o := newCombineOperands[float32](s, draw)
			want, atEnd := wantCombination(s, o), i%2 == 0
			o.a, o.b, o.a2, o.b2, o.addend = guarded(t, o.a, atEnd), guarded(t, o.b, atEnd), guarded(t, o.a2, atEnd), guarded(t, o.b2, atEnd), guarded(t, o.addend, atEnd)
			out, addend, x := guarded(t, make([]float32, s.rows*s.width), atEnd), o.addend, o.combination(p, s)
			if !s.on {
				addend = nil
			}
			x.run(out, o.a, o.b, o.a2, o.b2, addend)
			requireClose(t, s, out, want.value, want.magnitude, s.k+s.k2)
		}
		for m := 1; m <= 5; m++ {
			for _, k := range []int{1, 7, 16, 23, 33} {
				for _, atEnd := range []bool{false, true} {
					s := dotsCase{m: m, n: 1 + draw.IntN(6), k: k, add: true}
					a, b := guarded(t, uniformSlice[float32](draw, m*k), atEnd), guarded(t, uniformSlice[float32](draw, s.n*k), atEnd)
					c := guarded(t, uniformSlice[float32](draw, m*s.n), atEnd)
					want := wantDots(s, c, a, b)
					x := dots[float32]{path: p, m: m, n: s.n, k: k, cs: s.n, add: true}
					x.run(c, a, b)
					requireClose(t, s, c, want.value, want.magnitude, k)
				}
			}
		}
	})
}

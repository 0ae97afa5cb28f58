package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// mixCases returns sizes: one, primes, those of hyper-connections and of virtual widths, and more
// rows than a tile has.
func mixCases() []MixParams {
	var all []MixParams
	for _, s := range [][4]int{{1, 1, 1, 1}, {2, 1, 2, 3}, {5, 4, 1, 48}, {7, 3, 2, 17}, {3, 4, 1, 96}, {2, 5, 3, 31}, {37, 7, 5, 13}, {3, 13, 1, 7},
		{2, 17, 11, 19}, {3, 64, 8, 96}, {0, 4, 1, 5}} {
		for _, shared := range []bool{false, true} {
			all = append(all, MixParams{Tokens: s[0], N: s[1], M: s[2], D: s[3], Shared: shared})
		}
	}
	return all
}

func (d MixParams) String() string {
	return fmt.Sprintf("T=%d n=%d m=%d d=%d shared=%t", d.Tokens, d.N, d.M, d.D, d.Shared)
}

// mixOperands holds random operands: h and dout [T, n, d], y and du [T, m, d], c and its addend [T,
// n, 2m+n] or [n, 2m+n].
type mixOperands[T Float] struct{ h, dout, addend, y, du, c, addendC []T }

func newMixOperands[T Float](d MixParams) mixOperands[T] {
	r := rand.New(rand.NewPCG(uint64(d.Tokens), uint64(d.N*d.D)))
	stream, rows := d.Tokens*d.stream(), d.Tokens*d.rows()
	return mixOperands[T]{uniformSlice[T](r, stream), uniformSlice[T](r, stream), uniformSlice[T](r, stream),
		uniformSlice[T](r, rows), uniformSlice[T](r, rows), uniformSlice[T](r, d.totalC()), uniformSlice[T](r, d.totalC())}
}

// mixTerm is one term of a sum over t, i, j and v: out[o] += a[x] * b[y].
type mixTerm func(t, i, j, v int) (out, a, b int)

// addTerms adds a[.] b[.] for all tokens, rows i < rows, j < columns and elements v < d.
func addTerms[T Float](s sums, d MixParams, rows, columns int, a, b []T, at mixTerm) {
	for t := range d.Tokens {
		for i := range rows {
			for j := range columns {
				for v := range d.D {
					o, x, y := at(t, i, j, v)
					s.add(o, float64(a[x])*float64(b[y]))
				}
			}
		}
	}
}

// h and y return the index of element v of row i, c that of coefficient (i, j).
func (d MixParams) h(t, i, v int) int { return (t*d.N+i)*d.D + v }

func (d MixParams) y(t, j, v int) int { return (t*d.M+j)*d.D + v }

func (d MixParams) c(t, i, j int) int {
	if d.Shared {
		t = 0
	}
	return (t*d.N+i)*d.Columns() + j
}

func wantMixRead[T Float](d MixParams, o mixOperands[T]) (u, dh, dc sums) {
	u, dh, dc = newSums(len(o.du)), newSums(len(o.h)), newSums(len(o.c))
	addTerms(u, d, d.N, d.M, o.c, o.h, func(t, i, j, v int) (int, int, int) { return d.y(t, j, v), d.c(t, i, j), d.h(t, i, v) })
	addTerms(dh, d, d.N, d.M, o.c, o.du, func(t, i, j, v int) (int, int, int) { return d.h(t, i, v), d.c(t, i, j), d.y(t, j, v) })
	addTerms(dc, d, d.N, d.M, o.h, o.du, func(t, i, j, v int) (int, int, int) { return d.c(t, i, j), d.h(t, i, v), d.y(t, j, v) })
	return u, dh, dc
}

func wantMixWrite[T Float](d MixParams, o mixOperands[T]) (out, dh, dy, dc sums) {
	out, dh, dy, dc = newSums(len(o.h)), newSums(len(o.h)), newSums(len(o.y)), newSums(len(o.c))
	n, m := d.N, d.M
	addTerms(out, d, n, n, o.c, o.h, func(t, i, k, v int) (int, int, int) { return d.h(t, k, v), d.c(t, i, m+k), d.h(t, i, v) })
	addTerms(out, d, n, m, o.c, o.y, func(t, k, j, v int) (int, int, int) { return d.h(t, k, v), d.c(t, k, m+n+j), d.y(t, j, v) })
	addTerms(dh, d, n, n, o.c, o.dout, func(t, i, k, v int) (int, int, int) { return d.h(t, i, v), d.c(t, i, m+k), d.h(t, k, v) })
	addTerms(dy, d, n, m, o.c, o.dout, func(t, k, j, v int) (int, int, int) { return d.y(t, j, v), d.c(t, k, m+n+j), d.h(t, k, v) })
	addTerms(dc, d, n, n, o.h, o.dout, func(t, i, k, v int) (int, int, int) { return d.c(t, i, m+k), d.h(t, i, v), d.h(t, k, v) })
	addTerms(dc, d, n, m, o.dout, o.y, func(t, k, j, v int) (int, int, int) { return d.c(t, k, m+n+j), d.h(t, k, v), d.y(t, j, v) })
	return out, dh, dy, dc
}

// plus returns s with x added.
func plus[T Float](s sums, x []T) sums {
	s = sums{slices.Clone(s.value), slices.Clone(s.magnitude)}
	for i, v := range x {
		s.add(i, float64(v))
	}
	return s
}

// unset returns n elements that are NaN.
func unset[T Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.NaN())
	}
	return x
}

// requireSums compares with sums of the given number of terms.
func requireSums[T Float](t *testing.T, d MixParams, got []T, want sums, terms int) {
	t.Helper()
	require.Len(t, got, len(want.value))
	requireClose(t, d, got, want.value, want.magnitude, terms)
}

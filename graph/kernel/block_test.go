package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMultiplyTokens: the products of several tokens in one call have the bits of those of one call
// for each token, also where all are added to one C, and where each has an A of its own.
func TestMultiplyTokens(t *testing.T) {
	t.Run("float32", testMultiplyTokens[float32])
	t.Run("float64", testMultiplyTokens[float64])
}

func testMultiplyTokens[T Float](t *testing.T) {
	forEachPath[T](t, func(t *testing.T, p path) {
		const tokens = 3
		for _, s := range [][3]int{{1, 1, 1}, {4, 8, 32}, {32, 8, 4}, {30, 15, 7}, {5, 16, 3}, {12, 33, 9}, {29, 70, 2}} {
			m, n, k := s[0], s[1], s[2]
			for _, transposed := range []bool{false, true} {
				x := newBlock[T](p, m, n, k, transposed)
				a, b, d := normals[T](1, tokens*m*k, 1), normals[T](2, tokens*k*n, 1), normals[T](3, tokens*m*n, 1)
				each, own, one := x.dense(), x.dense(), tokenSteps{b: k * n}
				own.a = m * k
				for _, c := range []struct {
					name   string
					step   tokenSteps
					addend []T
				}{{"no addend", each, nil}, {"an addend", each, d}, {"own A", own, d}, {"one C", one, d}} {
					got, want := append([]T(nil), d...), append([]T(nil), d...)
					addend := func(of []T) []T {
						if c.addend != nil && c.step.c == 0 {
							return of
						}
						return c.addend
					}
					x.multiplyTokens(tokens, c.step, got, a, b, addend(got))
					for i := range tokens {
						to := addend(want)
						if to != nil {
							to = to[i*c.step.c:]
						}
						x.multiply(want[i*c.step.c:], a[i*c.step.a:], b[i*c.step.b:], to)
					}
					require.Equal(t, want, got, fmt.Sprint(s, transposed, c.name))
				}
			}
		}
	})
}

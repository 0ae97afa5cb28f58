package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpertTerms: Spread places each chosen row at its expert and leaves the rest 0, and Gather
// returns the rows.
func TestExpertTerms(t *testing.T) {
	testExpertTerms[float32](t)
	testExpertTerms[float64](t)
}

func testExpertTerms[T Float](t *testing.T) {
	for _, c := range []struct{ tokens, k, experts, width int }{{1, 1, 1, 1}, {5, 1, 3, 2}, {7, 2, 4, 3}, {33, 3, 3, 17}} {
		d := NewDispatch(make([]int32, DispatchSize(c.tokens, c.k, c.experts)), c.tokens, c.k, c.experts)
		for i := range d.Choices {
			d.Choices[i] = int32((i/c.k*5 + i%c.k) % c.experts) // K consecutive experts
		}
		d.sort()
		chosen := normals[T](1, d.Rows()*c.width, 1)
		want := make([]T, c.tokens*c.experts*c.width)
		for i, x := range chosen {
			assignment := i / c.width
			want[(assignment/c.k*c.experts+int(d.Choices[assignment]))*c.width+i%c.width] = x
		}
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			var k ExpertTerms[T]
			terms, back := fullOfNaN[T](len(want)), fullOfNaN[T](len(chosen))
			require.Zero(t, testing.AllocsPerRun(3, func() {
				k.Spread(p, terms, chosen, d)
				k.Gather(p, back, terms, d)
			}))
			require.Equal(t, want, terms, "%+v", c)
			require.Equal(t, chosen, back, "%+v", c)
			p.Close()
		}
	}
}

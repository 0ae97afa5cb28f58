package kernel

import "testing"

// TestVectorsNoAccessOutside runs every function on slices next to pages without access.
func TestVectorsNoAccessOutside(t *testing.T) {
	forEachFastPath(t, func(t *testing.T, p path) {
		for _, c := range vectorCases {
			for _, n := range []int{0, 1, 3, 7, 8, 15, 16, 31, 33, 65, 129} {
				want := c.operands(n)
				wantSums := c.run(portable, want)
				for _, atEnd := range []bool{true, false} {
					got := c.operands(n)
					for i := range got {
						got[i] = guarded(t, got[i], atEnd)
					}
					c.requireNear(t, n, want, got, wantSums, c.run(p, got))
				}
			}
		}
	})
}

package kernel

import "math"

// ropeTable holds the cosines and sines of rotary position embedding (Su et al. 2021,
// RoFormer, eq. 15): the pair (i, i + headDim/2) of a query or key at position pos is
// rotated by the angle pos * base^(-2i/headDim). The pairs are half-split, as in
// GPT-NeoX and Llama, not interleaved. If headDim is odd, the last element is not rotated.
type ropeTable[T Float] struct {
	base      float64
	headDim   int
	positions int
	cos, sin  []T // [positions, headDim/2]
}

// extend makes the table hold at least the given number of positions.
func (t *ropeTable[T]) extend(base float64, headDim, positions int) {
	if base == t.base && headDim == t.headDim && positions <= t.positions {
		return
	}
	half := headDim / 2
	t.base, t.headDim, t.positions = base, headDim, positions
	t.cos = grow(t.cos, positions*half)
	t.sin = grow(t.sin, positions*half)
	for i := range half {
		rate := math.Pow(base, -2*float64(i)/float64(headDim))
		for pos := range positions {
			sin, cos := math.Sincos(float64(pos) * rate)
			t.cos[pos*half+i], t.sin[pos*half+i] = T(cos), T(sin)
		}
	}
}

// rotate sets dst to src rotated by the angles of position pos; both have headDim
// elements and may be the same slice.
func (t *ropeTable[T]) rotate(dst, src []T, pos int) {
	half := t.headDim / 2
	cos, sin := t.cos[pos*half:][:half], t.sin[pos*half:][:half]
	a, b := src[:half], src[half:][:half]
	da, db := dst[:half], dst[half:][:half]
	for i, c := range cos {
		x, y, s := a[i], b[i], sin[i]
		da[i], db[i] = x*c-y*s, y*c+x*s
	}
	if t.headDim%2 == 1 {
		dst[t.headDim-1] = src[t.headDim-1]
	}
}

// rotateBack rotates x in place by the opposite angles of position pos: the transpose,
// and so the derivative, of rotate.
func (t *ropeTable[T]) rotateBack(x []T, pos int) {
	half := t.headDim / 2
	cos, sin := t.cos[pos*half:][:half], t.sin[pos*half:][:half]
	a, b := x[:half], x[half:][:half]
	for i, c := range cos {
		x, y, s := a[i], b[i], sin[i]
		a[i], b[i] = x*c+y*s, y*c-x*s
	}
}

func (t *ropeTable[T]) scratchBytes() int { return capBytes(t.cos) + capBytes(t.sin) }

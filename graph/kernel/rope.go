package kernel

import (
	"math"
	"slices"
)

// ropeTable holds the cosines and sines of rotary position embedding (Su et al. 2021, RoFormer, eq.
// 15): the pair (i, i + headDim/2) of a query or key at position pos is rotated by the angle pos *
// base^(-2i/headDim), multiplied by the pair's rate if there is a stretch. The pairs are
// half-split, as in GPT-NeoX and Llama, not interleaved. If headDim is odd, the last element is not
// rotated.
type ropeTable[T Float] struct {
	base      float64
	stretch   RopeStretch
	headDim   int
	positions int
	cos, sin  []T // [positions, headDim/2]
}

// RopeStretch changes rotary positions for rows longer than those in training: it multiplies the
// rate of each pair, and the rotated vectors by an amplitude. The zero value changes nothing.
type RopeStretch struct {
	Rates     []float64 // one for each pair; nil: 1
	Amplitude float64   // 0 means 1
}

func (s RopeStretch) equal(o RopeStretch) bool {
	return s.Amplitude == o.Amplitude && slices.Equal(s.Rates, o.Rates)
}

// Turn returns the cosine and sine, multiplied by the amplitude, by which the pair i of a head is
// rotated at a position.
func (s RopeStretch) Turn(base float64, headDim, i, pos int) (cos, sin float64) {
	rate, amplitude := math.Pow(base, -2*float64(i)/float64(headDim)), 1.0
	if s.Rates != nil {
		rate *= s.Rates[i]
	}
	if s.Amplitude != 0 {
		amplitude = s.Amplitude
	}
	sin, cos = math.Sincos(float64(pos) * rate)
	return amplitude * cos, amplitude * sin
}

// extend makes the table hold at least the given number of positions; with a base of 0 it is the
// table of no rotation.
func (t *ropeTable[T]) extend(base float64, stretch RopeStretch, headDim, positions int) {
	if base == t.base && stretch.equal(t.stretch) && headDim == t.headDim && positions <= t.positions {
		return
	}
	t.base, t.stretch, t.headDim, t.positions = base, stretch, headDim, positions
	if base == 0 {
		return
	}
	half := headDim / 2
	t.cos = grow(t.cos, positions*half)
	t.sin = grow(t.sin, positions*half)
	for i := range half {
		for pos := range positions {
			cos, sin := stretch.Turn(base, headDim, i, pos)
			t.cos[pos*half+i], t.sin[pos*half+i] = T(cos), T(sin)
		}
	}
}

// rotate sets dst to src rotated by the angles of position pos; both have headDim
// elements and may be the same slice.
func (t *ropeTable[T]) rotate(dst, src []T, pos int) {
	if t.base == 0 {
		copy(dst, src[:t.headDim])
		return
	}
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

// rotateBack rotates x in place by the opposite angles of position pos, with the same amplitude:
// this is the transpose of rotate, and so its derivative.
func (t *ropeTable[T]) rotateBack(x []T, pos int) {
	if t.base == 0 {
		return
	}
	half := t.headDim / 2
	cos, sin := t.cos[pos*half:][:half], t.sin[pos*half:][:half]
	a, b := x[:half], x[half:][:half]
	for i, c := range cos {
		x, y, s := a[i], b[i], sin[i]
		a[i], b[i] = x*c+y*s, y*c-x*s
	}
}

// writeBack sets dst to row, rotated back.
func (t *ropeTable[T]) writeBack(dst, row []T, pos int) {
	copy(dst, row)
	t.rotateBack(dst, pos)
}

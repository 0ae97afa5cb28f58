package kernel

import (
	"cmp"
	"math"
	"slices"
)

// RopeTable holds the cosines and sines of rotary position embedding (Su et al. 2021, RoFormer, eq.
// 15): the pair (i, i + headDim/2) of a query or key at position pos is rotated by the angle pos *
// base^(-2i/headDim), multiplied by the pair's rate if there is a stretch. The pairs are
// half-split, as in GPT-NeoX and Llama, not interleaved. If headDim is odd, the last element is not
// rotated.
//
// A kernel makes its table as long as the rows that it sees. Kernels that run one after the other
// may share a table; the zero value is ready to use.
type RopeTable[T Float] struct {
	base      float64
	stretch   RopeStretch
	headDim   int
	positions int
	turns     []float64 // [headDim/2]
	cos, sin  []T       // [positions, headDim/2]
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

// Turns returns the angle by which each pair of a head is rotated from one position to the next.
func (s RopeStretch) Turns(base float64, headDim int) []float64 {
	turns := make([]float64, headDim/2)
	for i := range turns {
		turns[i] = math.Pow(base, -2*float64(i)/float64(headDim))
		if s.Rates != nil {
			turns[i] *= s.Rates[i]
		}
	}
	return turns
}

// Rotation returns the cosine and sine, multiplied by the amplitude, by which a pair with that turn
// is rotated at a position. A pair with a turn of 0 has no positions, and stays as it is.
func (s RopeStretch) Rotation(turn float64, pos int) (cos, sin float64) {
	if turn == 0 {
		return 1, 0
	}
	amplitude := cmp.Or(s.Amplitude, 1)
	sin, cos = math.Sincos(float64(pos) * turn)
	return amplitude * cos, amplitude * sin
}

// orOwn returns the table, or if there is none a kernel's own, which the first call makes.
func (t *RopeTable[T]) orOwn(own *RopeTable[T]) *RopeTable[T] {
	switch {
	case t != nil:
		return t
	case own != nil:
		return own
	}
	return new(RopeTable[T])
}

// extend makes the table hold at least the given number of positions, and computes only those that
// it does not hold; with a base of 0 it is the table of no rotation.
func (t *RopeTable[T]) extend(base float64, stretch RopeStretch, headDim, positions int) {
	if base != t.base || !stretch.equal(t.stretch) || headDim != t.headDim {
		*t = RopeTable[T]{base: base, stretch: stretch, headDim: headDim, cos: t.cos[:0], sin: t.sin[:0]}
		if base != 0 {
			t.turns = stretch.Turns(base, headDim)
		}
	}
	if base == 0 || positions <= t.positions {
		return
	}
	more := (positions - t.positions) * len(t.turns)
	t.cos, t.sin = slices.Grow(t.cos, more), slices.Grow(t.sin, more)
	for ; t.positions < positions; t.positions++ {
		for _, turn := range t.turns {
			cos, sin := stretch.Rotation(turn, t.positions)
			t.cos, t.sin = append(t.cos, T(cos)), append(t.sin, T(sin))
		}
	}
}

// rotate sets dst to src rotated by the angles of position pos; both have headDim
// elements and may be the same slice.
func (t *RopeTable[T]) rotate(dst, src []T, pos int) {
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
func (t *RopeTable[T]) rotateBack(x []T, pos int) {
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
func (t *RopeTable[T]) writeBack(dst, row []T, pos int) {
	copy(dst, row)
	t.rotateBack(dst, pos)
}

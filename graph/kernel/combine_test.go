package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCombineTileLayout checks that combineTile[float32] has the layout that internal/asmgen writes
// into the assembly.
func TestCombineTileLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x combineTile[float32]
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.c), unsafe.Offsetof(x.d), unsafe.Offsetof(x.a), unsafe.Offsetof(x.b),
		unsafe.Offsetof(x.k), unsafe.Offsetof(x.rs), unsafe.Offsetof(x.ks),
		unsafe.Offsetof(x.a2), unsafe.Offsetof(x.b2), unsafe.Offsetof(x.k2), unsafe.Offsetof(x.rs2), unsafe.Offsetof(x.ks2),
		unsafe.Offsetof(x.cols),
	} {
		assert.EqualValues(t, 8*i, offset)
	}
}

// combineCase is a combination of k rows and, if k2 is not 0, k2 others.
type combineCase struct {
	rows, width, k, k2     int
	transposed, second, on bool // A, A2 as [k, rows]; with a second term; with an addend
}

func (s combineCase) String() string { return fmt.Sprintf("%+v", struct{ combineCase }{s}) }

// combineOperands holds random operands, exactly as long as they need to be.
type combineOperands[T Float] struct {
	a, b, a2, b2, addend []T
	stride, stride2      int
}

func newCombineOperands[T Float](s combineCase, r *rand.Rand) combineOperands[T] {
	o := combineOperands[T]{stride: choose(s.transposed, s.rows, s.k) + 1, stride2: choose(s.second, s.rows, s.k2) + 3}
	o.a = uniformSlice[T](r, matrixLength(choose(s.transposed, s.k, s.rows), o.stride-1, o.stride))
	o.b = uniformSlice[T](r, s.k*s.width)
	o.a2 = uniformSlice[T](r, matrixLength(choose(s.second, s.k2, s.rows), o.stride2-3, o.stride2))
	o.b2 = uniformSlice[T](r, s.k2*s.width)
	o.addend = uniformSlice[T](r, s.rows*s.width)
	return o
}

func wantCombination[T Float](s combineCase, o combineOperands[T]) sums {
	want := newSums(s.rows * s.width)
	term := func(k, stride int, transposed bool, a, b []T) {
		for r := range s.rows {
			for i := range k {
				at := choose(transposed, i*stride+r, r*stride+i)
				for v := range s.width {
					want.add(r*s.width+v, float64(a[at])*float64(b[i*s.width+v]))
				}
			}
		}
	}
	term(s.k, o.stride, s.transposed, o.a, o.b)
	term(s.k2, o.stride2, s.second, o.a2, o.b2)
	if s.on {
		return plus(want, o.addend)
	}
	return want
}

func (o combineOperands[T]) combination(p path, s combineCase) combination[T] {
	terms := []coefficients{{s.k, o.stride, s.transposed}}
	if s.k2 > 0 {
		terms = append(terms, coefficients{s.k2, o.stride2, s.second})
	}
	return newCombination[T](p, s.rows, s.width, terms...)
}

func combineCases() []combineCase {
	draw := rand.New(rand.NewPCG(3, 4))
	var all []combineCase
	for rows := 1; rows <= combineRows+3; rows++ {
		for _, width := range []int{1, 2, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 49, 67} {
			all = append(all, combineCase{rows: rows, width: width, k: 1 + draw.IntN(9), k2: draw.IntN(4),
				transposed: draw.IntN(2) == 0, second: draw.IntN(2) == 0, on: draw.IntN(2) == 0})
		}
	}
	return all
}

func testCombination[T Float](t *testing.T) {
	forEachPath[T](t, func(t *testing.T, p path) {
		draw := rand.New(rand.NewPCG(5, 6))
		for _, s := range combineCases() {
			o := newCombineOperands[T](s, draw)
			want, x := wantCombination(s, o), o.combination(p, s)
			out, addend := unset[T](s.rows*s.width), o.addend
			if !s.on {
				addend = nil
			}
			x.run(out, o.a, o.b, o.a2, o.b2, addend)
			requireClose(t, s, out, want.value, want.magnitude, s.k+s.k2)
			if s.on {
				same := slices.Clone(addend)
				x.run(same, o.a, o.b, o.a2, o.b2, same)
				require.Equal(t, out, same, "over the addend: %v", s)
			}
			if s.rows == s.k {
				same, scratch := slices.Clone(o.b), []T(nil)
				x.run(same, o.a, x.aside(&scratch, same, same), o.a2, o.b2, addend)
				require.Equal(t, out, same, "over the rows: %v", s)
			}
		}
	})
}

func TestCombination(t *testing.T) {
	testCombination[float32](t)
	testCombination[float64](t)
}

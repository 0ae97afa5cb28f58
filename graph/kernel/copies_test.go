package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copiesCase is a number of tokens, of rows and of elements in a row.
type copiesCase struct{ tokens, n, width int }

func (s copiesCase) String() string { return fmt.Sprintf("T=%d n=%d d=%d", s.tokens, s.n, s.width) }

var copiesCases = []copiesCase{{1, 1, 1}, {0, 3, 5}, {3, 2, 7}, {5, 3, 17}, {7, 4, 48}, {2, 5, 31}, {11, 64, 13}}

func testCopies[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := &Copies[T]{path: p}
		for _, s := range copiesCases {
			r := rand.New(rand.NewPCG(uint64(s.tokens), uint64(s.n)))
			x, h := uniformSlice[T](r, s.tokens*s.width), uniformSlice[T](r, s.tokens*s.n*s.width)
			wantH, wantX := newSums(len(h)), newSums(len(x))
			for i, v := range h {
				of := i/(s.n*s.width)*s.width + i%s.width // the index in the vector
				wantH.add(i, float64(x[of]))
				wantX.add(of, float64(v))
			}
			gotH, gotX := unset[T](len(h)), unset[T](len(x))
			k.Spread(pool, gotH, x, nil, s.tokens, s.n, s.width)
			requireClose(t, s, gotH, wantH.value, wantH.magnitude, 1)
			k.Sum(pool, gotX, h, nil, s.tokens, s.n, s.width)
			requireClose(t, s, gotX, wantX.value, wantX.magnitude, s.n)
			testCopiesAdded(t, k, s, x, h, wantX, wantH)
		}
	})
}

// testCopiesAdded adds to other gradients, elsewhere and, where possible, in place.
func testCopiesAdded[T Float](t *testing.T, k *Copies[T], s copiesCase, x, h []T, wantX, wantH sums) {
	t.Helper()
	overH := slices.Clone(h)
	gotH, gotX := unset[T](len(h)), unset[T](len(x))
	k.Spread(nil, gotH, x, h, s.tokens, s.n, s.width)
	wantH = plus(wantH, h)
	requireClose(t, s, gotH, wantH.value, wantH.magnitude, 2)
	k.Spread(nil, overH, x, overH, s.tokens, s.n, s.width)
	require.Equal(t, gotH, overH)
	k.Sum(nil, gotX, h, x, s.tokens, s.n, s.width)
	wantX = plus(wantX, x)
	requireClose(t, s, gotX, wantX.value, wantX.magnitude, s.n+1)
}

func TestCopies(t *testing.T) {
	testCopies[float32](t)
	testCopies[float64](t)
}

func TestCopiesAllocateNothingWarm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	k := &Copies[float32]{}
	x, h := make([]float32, 7*16), make([]float32, 7*4*16)
	assert.Zero(t, testing.AllocsPerRun(3, func() { k.Spread(pool, h, x, nil, 7, 4, 16) }))
	assert.Zero(t, testing.AllocsPerRun(3, func() { k.Sum(pool, x, h, nil, 7, 4, 16) }))
}

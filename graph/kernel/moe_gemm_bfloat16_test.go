package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpertGemmBFloat16 compares products of experts' rows, gathered or not, with products of
// copied rows, to the bit; one expert has no rows.
func TestExpertGemmBFloat16(t *testing.T) {
	const tokens, choices, experts = 23, 2, 4
	d := NewDispatch(make([]int32, DispatchSize(tokens, choices, experts)), tokens, choices, experts)
	for i := range d.Choices {
		d.Choices[i] = int32([]int{0, 3, 3, 1, 0}[i%5]) // expert 2 has no rows
	}
	d.sort()
	pool := NewPool(2)
	defer pool.Close()
	forEachPairPath(t, func(t *testing.T, p path) {
		for _, s := range [][2]int{{7, 5}, {40, 33}, {64, 70}} {
			for _, gathered := range []bool{false, true} {
				testExpertRows(t, pool, p, d, s[0], s[1], gathered)
				for _, accumulate := range []bool{false, true} {
					testExpertWeights(t, pool, p, d, s[0], s[1], gathered, accumulate)
				}
			}
		}
	})
}

// rowsOf returns a copy of expert e's rows of x [.., width].
func rowsOf(x []BFloat16, d Dispatch, e, width int, gathered bool) (rows []BFloat16) {
	first, end := d.rows(e)
	for r := first; r < end; r++ {
		i := r
		if gathered {
			i = d.token(r)
		}
		rows = append(rows, x[i*width:(i+1)*width]...)
	}
	return rows
}

func testExpertRows(t *testing.T, pool *Pool, p path, d Dispatch, n, k int, gathered bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	a := randomBFloat16(r, choose(gathered, d.Tokens, d.Rows())*k)
	weights, packed := make([]WeightsBFloat16, d.Experts), make([]PackedBFloat16, d.Experts)
	want, got := make([]BFloat16, d.Rows()*n), make([]BFloat16, d.Rows()*n)
	for e := range d.Experts {
		w := randomBFloat16(r, k*n)
		weights[e].path = p
		packed[e] = weights[e].Pack(pool, false, n, k, w, n)
		if first, end := d.rows(e); first < end {
			(&GemmBFloat16[BFloat16]{path: p}).Run(nil, false, false, end-first, n, k, 1, rowsOf(a, d, e, k, gathered), k, w, n, 0, want[first*n:], n)
		}
	}
	for _, whole := range []bool{false, true} {
		clear(got)
		(&ExpertGemmBFloat16[BFloat16]{Whole: whole}).Rows(pool, got, a, packed, d, gathered)
		require.Equal(t, want, got)
	}
}

func testExpertWeights(t *testing.T, pool *Pool, p path, d Dispatch, m, n int, gathered, accumulate bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	a, b := randomBFloat16(r, choose(gathered, d.Tokens, d.Rows())*m), randomBFloat16(r, choose(!gathered, d.Tokens, d.Rows())*n)
	got := uniformSlice[float32](r, d.Experts*m*n)
	want := slices.Clone(got)
	for e := range d.Experts {
		dw := want[e*m*n : (e+1)*m*n]
		first, end := d.rows(e)
		beta := float32(choose(accumulate, 1, 0))
		(&GemmBFloat16[float32]{path: p}).Run(nil, true, false, m, n, end-first, 1, rowsOf(a, d, e, m, gathered), m, rowsOf(b, d, e, n, !gathered), n, beta, dw, n)
	}
	g := &ExpertGemmBFloat16[float32]{}
	g.gemm.path = p
	g.Weights(pool, got, a, b, d, m, n, gathered, !gathered, accumulate)
	requireSameFloats(t, want, got, d.Experts)
}

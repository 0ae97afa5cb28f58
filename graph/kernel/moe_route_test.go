package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireSorted checks that a Dispatch's rows are as its documentation says.
func requireSorted(t *testing.T, d Dispatch) {
	t.Helper()
	counts := make([]int32, d.Experts)
	d.Counts(counts)
	require.EqualValues(t, 0, d.Offsets[0])
	require.EqualValues(t, d.Rows(), d.Offsets[d.Experts])
	row := 0
	for e := range d.Experts {
		for i := range int(counts[e]) {
			require.EqualValues(t, e, d.expert(row))
			require.EqualValues(t, row, d.Places[d.Order[row]])
			if i > 0 {
				require.Less(t, d.token(row-1), d.token(row))
			}
			row++
		}
	}
}

// Ties go to the lowest index, at every rank.
func TestRouteTies(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	for _, c := range []struct {
		logits []float32
		want   []int32
	}{
		{[]float32{0, 0, 0, 0}, []int32{0, 1, 2}},
		{[]float32{1, 2, 2, 1}, []int32{1, 2, 0}},
		{[]float32{0, 3, 1, 3}, []int32{1, 3, 2}},
		{[]float32{-1, -1, 5, -1}, []int32{2, 0, 1}},
		{[]float32{3, 2, 1, 0}, []int32{0, 1, 2}},
		{[]float32{0, 1, 2, 3}, []int32{3, 2, 1}},
		{[]float32{-inf, 0, -inf, -inf}, []int32{1, 0, 2}},
		{[]float32{nan, nan, nan, nan}, []int32{0, 1, 2}},
	} {
		for k := 1; k <= 3; k++ {
			d := NewDispatch(make([]int32, DispatchSize(1, k, 4)), 1, k, 4)
			gates := make([]float32, k)
			(&Route[float32]{}).Forward(nil, gates, c.logits, d)
			require.Equal(t, c.want[:k], d.Choices, "%v", c.logits)
			require.Equal(t, c.logits[0] != c.logits[0], gates[0] != gates[0], "%v", c.logits)
		}
	}
}

// A NaN among a token's logits is not lost, even if its expert is not chosen.
func TestRouteNaN(t *testing.T) {
	d := NewDispatch(make([]int32, DispatchSize(1, 2, 3)), 1, 2, 3)
	gates := make([]float32, 2)
	(&Route[float32]{}).Forward(nil, gates, []float32{1, 2, float32(math.NaN())}, d)
	require.True(t, gates[0] != gates[0] && gates[1] != gates[1])
}

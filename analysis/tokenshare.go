package analysis

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// tokenShare returns the shares of the variance of entries that the tokens explain: the variance of
// the means of each token's entries.
func tokenShare(entries []float64, ids []int32) (s TokenShare) {
	n, mean := float64(len(entries)), stat.Mean(entries, nil)
	sums, counts, all := map[int32]float64{}, map[int32]float64{}, 0.0
	for i, v := range entries {
		sums[ids[i]] += v - mean
		counts[ids[i]]++
		all += (v - mean) * (v - mean)
	}
	if all == 0 {
		return s
	}
	for _, id := range ids {
		between := sums[id] * sums[id] / counts[id] / all
		s.All += between / counts[id] // each of a token's entries adds its part, in their order
		if n > counts[id] {
			s.One = max(s.One, between*n/(n-counts[id]))
		}
	}
	return s
}

// meanShare returns the mean of the columns' shares.
func meanShare(x *mat.Dense, ids []int32) (mean TokenShare) {
	_, k := x.Dims()
	for j := range k {
		mean.add(tokenShare(mat.Col(nil, j, x), ids), k)
	}
	return mean
}

// add adds one of n shares to a mean.
func (s *TokenShare) add(t TokenShare, n int) {
	s.All += t.All / float64(n)
	s.One += t.One / float64(n)
}

// sharedByChance returns the share of the variance that the token explains, as a mean over all
// orders of the entries: (different tokens - 1) / (tokens - 1).
func sharedByChance(ids []int32) float64 {
	kinds := map[int32]bool{}
	for _, id := range ids {
		kinds[id] = true
	}
	return float64(len(kinds)-1) / float64(max(1, len(ids)-1))
}

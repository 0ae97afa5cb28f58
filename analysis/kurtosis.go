package analysis

import "gonum.org/v1/gonum/floats"

// Kurtosis is m4/m2^2 of values, with the population's central moments m_k = mean((x -
// mean)^k): 3 for a Gaussian, 6 for a Laplace distribution, at least 1, and at most the
// number of values, so that small samples are pulled down. It is 0 for values that are all
// the same, or none, which have none.
func Kurtosis(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	mean, m2, m4 := floats.Sum(x)/float64(len(x)), 0.0, 0.0
	for _, v := range x {
		square := (v - mean) * (v - mean)
		m2, m4 = m2+square/float64(len(x)), m4+square*square/float64(len(x))
	}
	const rounding = 1e-24 // of squares
	if m2 <= rounding*mean*mean {
		return 0
	}
	return m4 / (m2 * m2)
}

// meanKurtosis returns the mean of the kurtoses that are defined.
func meanKurtosis(all []float64) float64 {
	sum, n := 0.0, 0
	for _, k := range all {
		if k > 0 {
			sum, n = sum+k, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// withinErrors wants a mean of samples within 4 of its standard errors of what theory says.
func withinErrors(t *testing.T, want float64, samples []float64, what string, args ...any) {
	t.Helper()
	mean, squares, n := 0.0, 0.0, float64(len(samples))
	for _, v := range samples {
		mean += v / n
	}
	for _, v := range samples {
		squares += (v - mean) * (v - mean)
	}
	assert.InDelta(t, want, mean, 4*math.Sqrt(squares/(n-1)/n), append([]any{what}, args...)...)
}

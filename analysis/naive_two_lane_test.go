package analysis_test

import (
	"gonum.org/v1/gonum/floats"
)

// EndTwoLane halves what the lanes hold: their mean is read.
func (n *naive) EndTwoLane(_ int, x []float64) []float64 {
	floats.Scale(0.5, x)
	return x
}

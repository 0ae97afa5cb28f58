package elementwise_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(elementwiseCases(), gateCases(), hadamardCases(), weightedSumCases()), "geluGrad", "sigmoidGrad", "gluGrad", "lstmOutput", "lstmOutputGrad", "lstmCellGrad", "lstmGateGrad")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, slices.Concat(elementwiseCases(), gateCases(), hadamardCases(), weightedSumCases()), map[string]int{
		"Gelu/exact=true [3 5]": 0,
	})
}

package elementwise_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(elementwiseCases(), gateCases(), hadamardCases(), weightedSumCases(), multiwaySumCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(cases(), sparseCases(), []optest.Case{productCase()}), "activationGrad", "topK", "wherePositive", "detach", "productGrad", "softCapGrad", "swiGLUGrad", "swiGLUFactorGrad", "sigmoidGrad", "gluGrad", "lstmOutput", "lstmOutputGrad", "lstmCellGrad", "lstmGateGrad")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"Gelu/exact=true [3 5]": 0,
	})
}

package linear_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(linearCases(), linearActivatedCases(), swiGLUCases(), partsCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "linearGradX", "linearGradW", "linearActivated", "activated", "linearGradActivated", "sumTokens",
		"gateProduct", "valueProduct", "gatedValue", "linearGradSwiGLU", "gateGrad", "SwiGLUGradient", "SwiGLUGradient's dvalue",
		"partsGradX", "partsGradW")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"Linear/plain":      2 * 3 * 5 * 2,
		"Linear/transposed": 2 * 3 * 10 * 7,
		"Linear/rows":       2 * 3 * 10 * 7,
		"LinearGelu/both":   2 * 7 * 5 * 3,
		"MapSwiGLU/alone":   2 * 2 * 7 * 5 * 3,
	})
}

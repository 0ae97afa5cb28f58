package elementwise_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(elementwiseCases(), gateCases(), hadamardCases(), weightedSumCases(), multiwaySumCases(), []optest.Case{productCase()})
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(cases(), sparseCases()), "activationGrad", "topK", "WherePositive", "GradX of WherePositive", "GradX of Scale", "detach", "GradX of Multiply", "GradY of Multiply", "GradX of Sigmoid", "gluGrad",
		"GradX of SoftCap", "GradGate of SwiGLU", "GradValue of SwiGLU", "LSTMCell's hidden", "GradState of LSTMCell", "GradCell of LSTMCell's hidden", "GradOutputGate of LSTMCell's hidden", "GradCandidate of LSTMCell")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"Gelu/exact=true [3 5]": 0,
	})
}

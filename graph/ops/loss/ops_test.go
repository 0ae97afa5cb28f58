package loss

import (
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return lossCases()
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, append(cases(), squaredErrorCases()...), "secondaryOutput", "squaredErrorGrad")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"CrossEntropy/transposed":      2 * 5 * 6 * 7,
		"TokenLosses/transposed=false": 2 * 7 * 3 * 5,
	})
}

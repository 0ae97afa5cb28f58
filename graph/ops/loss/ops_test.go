package loss

import (
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases are those of all ops of this package.
func cases() []optest.Case {
	return lossCases()
}

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "secondaryOutput")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"CrossEntropy/transposed":      2 * 5 * 6 * 7,
		"TokenLosses/transposed=false": 2 * 7 * 3 * 5,
	})
}

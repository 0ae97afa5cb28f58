package attention

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases are those of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(attentionCases(), patternCases(), tokenCases(), prepareCases())
}

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "attentionGrad", "preparationGrad", "firstGrad", "valuesGrad")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"CausalAttention/heads and rows": 2 * (2 * 2 * 3 * 5) * (1 + 2 + 3),
	})
}

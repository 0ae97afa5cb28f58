package attention

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package that run on a device.
func cases() []optest.Case {
	return slices.Concat(attentionCases(), patternCases(patternOptions()), tokenCases(), prepareCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(cases(), windowCases(), patternCases(windowOptions()), patternCases(softCapOptions()), rowNormCases(), stageCases()),
		"attentionGrad", "preparationGrad", "firstGrad", "valuesGrad")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"CausalAttention/heads and rows": 2 * (2 * 2 * 3 * 5) * (1 + 2 + 3),
	})
	optest.ForwardFLOPs(t, windowCases(), map[string]int{
		"CausalAttention/window":              2 * (2 * 2 * 2 * 3) * (1 + 2 + 3*5),
		"CausalAttention/window and sinks":    2 * (2 * 2 * 4 * 4) * (1 + 2 + 3 + 4*6),
		"CausalAttention/window over a block": 2 * (2 * 1 * 1 * 2) * (1 + 2 + 3 + 4*87),
	})
}

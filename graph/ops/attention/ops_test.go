package attention

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(attentionCases(), patternCases(), tokenCases()), "attentionGrad")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, slices.Concat(attentionCases(), patternCases(), tokenCases()), map[string]int{
		"CausalAttention/heads and rows": 2 * (2 * 2 * 3 * 5) * (1 + 2 + 3),
	})
}

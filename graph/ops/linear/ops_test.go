package linear_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(linearCases(), linearGeluCases()), "linearGradX", "linearGradW", "linearGelu", "activated", "linearGradGelu", "sumTokens")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, slices.Concat(linearCases(), linearGeluCases()), map[string]int{
		"Linear/plain":      2 * 3 * 5 * 2,
		"Linear/transposed": 2 * 3 * 10 * 7,
		"LinearGelu/both":   2 * 7 * 5 * 3,
	})
}

package norm_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(normCases(), normLinearCases(), matchSizeCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "normGrad", "normLinearGrad", "matchSizeGrad")
}

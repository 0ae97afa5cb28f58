package mix

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(mixCases(), nextCases(), coefficientCases(), gatedCases(), depthCases(), headCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "mixReadGrad", "mixWriteGrad", "mixUpGrad", "mixReadGradC", "nextRead", "nextProjection", "gatedReadGrad", "depthGrad")
}

package norm_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, slices.Concat(normCases(), normLinearCases()), "normGrad", "normLinearGrad")
}

package delta_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case { return slices.Concat(writeCases(), readCases(), convolveCases()) }

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "write", "writeGrad", "read", "readGrad", "secondaryOutput")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"DeltaWrite/[3 2 5]":                          4 * 3 * 2 * 5,
		"DeltaRead/[6 2 5] taps=4 seq=6 masked=false": 4 * 2 * 6 * 2 * 5,
		"DeltaRead/[3 2 5] taps=0 seq=3 masked=false": 2 * 3 * 2 * 5,
	})
}

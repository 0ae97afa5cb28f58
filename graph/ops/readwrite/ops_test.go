package readwrite_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases returns the test cases of all ops of this package.
func cases() []optest.Case {
	return slices.Concat(streamCases(), normReadCases(), tokenKeysCases())
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "normReadGrad", "keysGrad", "writeGrad", "writeEachGradY", "tokenKeysGrad")
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"Read/[2 7 3] [3 2 7]":                                   2 * 2 * 6 * 7 * 3,
		"Write/[3 5 7] [2 5] [3 2 7]":                            2 * 3 * 2 * 5 * 7,
		"NormRead/LayerNorm(eps=1e-06) bias=false [3 5 7] [2 5]": 2 * 3 * 2 * 5 * 7,
		"ReadEach/[3 5 7] [3 5 2]":                               2 * 3 * 2 * 5 * 7,
		"WriteEach/[3 5 7] [3 5 2]":                              2 * 3 * 2 * 5 * 7,
	})
}

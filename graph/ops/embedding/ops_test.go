package embedding_test

import (
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// cases are those of all ops of this package.
func cases() []optest.Case {
	return embeddingCases()
}

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, cases(), "embeddingGrad")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, cases(), map[string]int{
		"Embedding/vectors": 0,
	})
}

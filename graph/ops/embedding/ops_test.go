package embedding_test

import (
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// TestOps: what holds for every op.
func TestOps(t *testing.T) {
	optest.Run(t, embeddingCases(), "embeddingGrad")
}

// TestForwardFLOPs counts the products.
func TestForwardFLOPs(t *testing.T) {
	optest.ForwardFLOPs(t, embeddingCases(), map[string]int{
		"Embedding/vectors": 0,
	})
}

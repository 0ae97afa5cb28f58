//go:build !cuda

package cli

import (
	"testing"
)

// TestBenchWithoutCUDA: asked for in a build that has no CUDA backend, it says how to get
// one.
func TestBenchWithoutCUDA(t *testing.T) {
	callBench("-device", "cuda").Refused(t, "go run -tags cuda ./cmd/residua bench")
}

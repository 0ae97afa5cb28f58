//go:build !cuda

package bench

import (
	"testing"
)

func prepareDevice() error { return nil }

// TestBenchWithoutCUDA: asked for in a build that has no CUDA backend, it says how to get
// one.
func TestBenchWithoutCUDA(t *testing.T) {
	execute("-device", "cuda").Refused(t, "go run -tags cuda ./cmd/residua bench")
}

//go:build !cuda

package main

import (
	"testing"

	"github.com/residua-go/residua/internal/cli/clitest"
)

func prepareDevice() error { return nil }

// TestBenchWithoutCUDA: asked for in a build that has no CUDA backend, it says how to get
// one.
func TestBenchWithoutCUDA(t *testing.T) {
	clitest.Call(command(), "-device", "cuda").Refused(t, "go run -tags cuda ./cmd/bench")
}

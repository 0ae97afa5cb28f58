//go:build !cuda

package bench

import (
	"testing"

	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

func prepareDevice() error { return nil }

// TestBenchWithoutCUDA: asked for in a build that has no CUDA backend, it says how to get
// one.
func TestBenchWithoutCUDA(t *testing.T) {
	clitest.Call(Command(models.Standard()), "-device", "cuda").Refused(t, "go run -tags cuda ./cmd/bench")
}

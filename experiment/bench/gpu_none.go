//go:build !cuda

package bench

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// gpuName fails: this program has no CUDA backend.
func gpuName(graph.Device) (string, error) {
	return "", errors.New("device cuda: want a program built with it, as in go run -tags cuda ./cmd/residua bench, got one without")
}

//go:build !cuda

package main

import "github.com/pkg/errors"

// gpuName says that this program has no CUDA backend.
func gpuName() (string, error) {
	return "", errors.New("-device cuda: want a bench built with it, as in go run -tags cuda ./cmd/bench, got one without")
}

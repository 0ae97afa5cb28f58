//go:build cuda

package models_test

import (
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// devices lists the GPU in its precisions.
func devices() []referenceDevice {
	on := func(p graph.Precision) graph.Options { return graph.Options{Device: graph.CUDA, Precision: p} }
	return []referenceDevice{
		{"cuda fp32", on(graph.FP32), tolerance32, true},
		{"cuda tf32", on(graph.TF32), 2e-3, false},
		{"cuda bf16", on(graph.BF16), 2e-2, false},
	}
}

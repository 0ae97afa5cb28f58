//go:build cuda

package models_test

import (
	"math"
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// opsInARow is about how many ops lie one after the other on the way of a small reference's
// gradient. Their rounding errors, each within the bound of a single op (graph's TestDevice), add
// up like its square root.
const opsInARow = 25

// devices returns the GPU in each of its precisions.
func devices() []referenceDevice {
	on := func(p graph.Precision) graph.Options { return graph.Options{Device: graph.CUDA, Precision: p} }
	return []referenceDevice{
		{"cuda fp32", on(graph.FP32), tolerance32, 1, true},
		{"cuda tf32", on(graph.TF32), 2e-3 * math.Sqrt(opsInARow), 1 << 13, false},
		{"cuda bf16", on(graph.BF16), 2e-2 * math.Sqrt(opsInARow), 1 << 16, false},
	}
}

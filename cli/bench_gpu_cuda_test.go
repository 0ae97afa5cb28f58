//go:build cuda

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/commandline"
)

// benchOnDevice is a call of benchTiny on the device.
func benchOnDevice(t *testing.T, args ...string) bench.Report {
	t.Helper()
	got := benchTiny(append([]string{"-models", "byte-transformer", "-device", "cuda", "-precision", "bf16", "-peak", "0.5", "-json"}, args...)...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var r bench.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
	assert.NotEmpty(t, r.Machine.GPU)
	assert.Equal(t, graph.BF16, r.Machine.Precision)
	assert.Equal(t, 500.0, r.Machine.PeakGFLOPS)
	return r
}

// TestBenchOnTheDevice: the share refers to the named peak, the memory is the GPU's and not
// less than what the plan wants.
func TestBenchOnTheDevice(t *testing.T) {
	r := benchOnDevice(t)
	require.Len(t, r.Models, 1)
	m := r.Models[0]
	assert.InEpsilon(t, m.GFLOPS/500, m.Share, 1e-9)
	assert.Greater(t, m.Predicted, 18*m.Parameters, "weights, their copies, gradients, moments")
	assert.GreaterOrEqual(t, m.PeakBytes, m.Predicted)
	assert.Less(t, m.PeakBytes, m.Predicted+200<<20, "kernels and workspaces")
}

// TestBenchTargetOnTheDevice: without -precision models compute in TF32.
func TestBenchTargetOnTheDevice(t *testing.T) {
	got := benchTiny("-models", "byte-transformer", "-device", "cuda", "-threads", "2", "-peak", "0.5", "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var r bench.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
	assert.Equal(t, graph.TF32, r.Machine.Precision)
	assert.Equal(t, 2, r.Machine.Threads)
	assert.NotEmpty(t, r.Machine.GPU)
}

// TestBenchOnTheDeviceComparedWithPyTorch: the script hears of device and precision.
func TestBenchOnTheDeviceComparedWithPyTorch(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakePython, fmt.Sprint(oursParameters(t, "byte-transformer")))
	t.Setenv(fakeDevice, "--precision bf16 --device cuda")
	r := benchOnDevice(t, "-pytorch="+self, "-script", "../experiment/bench/pytorch.py", "-pytorch-modes", bench.Eager)
	require.Len(t, r.PyTorch, 1)
	require.Len(t, r.PyTorch[0].Baselines, 1)
	assert.InEpsilon(t, 0.5/r.PyTorch[0].Residua.StepSeconds, r.PyTorch[0].Baselines[0].Speedup, 1e-9)
}

// TestBenchBeyondTheDevice: the child, on a GPU of 8 kB, ends with the device's error.
func TestBenchBeyondTheDevice(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("a GPU has more memory")
	}
	t.Setenv("RESIDUA_EMULATOR_MEMORY", "8192")
	got := benchTiny("-device", "cuda")
	assert.Equal(t, commandline.ExitRun, got.Code)
	assert.Contains(t, got.Stderr, "error: 2 measurements failed, first: Residua byte-rmt: ")
	assert.Contains(t, got.Stderr, "out of memory")
	assert.NotContains(t, got.Stderr, "panic")
}

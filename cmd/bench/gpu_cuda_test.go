//go:build cuda

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// prepareDevice makes the tests' device: the emulator, or a GPU where RESIDUA_GPU says so.
func prepareDevice() error { return emulator.Use() }

// onDevice is a call of tiny on the device.
func onDevice(t *testing.T, args ...string) report {
	t.Helper()
	got := tiny(append([]string{"-models", "byte-transformer", "-device", "cuda", "-precision", "bf16", "-peak", "0.5", "-json"}, args...)...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
	assert.NotEmpty(t, r.Machine.GPU)
	assert.Equal(t, graph.BF16, r.Machine.Precision)
	assert.Equal(t, 500.0, r.Machine.PeakGFLOPS)
	return r
}

// TestBenchOnTheDevice: the share is that of the named peak, the memory the GPU's and not
// less than what the plan wants.
func TestBenchOnTheDevice(t *testing.T) {
	r := onDevice(t)
	require.Len(t, r.Models, 1)
	m := r.Models[0]
	assert.InEpsilon(t, m.GFLOPS/500, m.Share, 1e-9)
	assert.Greater(t, m.Predicted, 18*m.Parameters, "weights, their copies, gradients, moments")
	assert.GreaterOrEqual(t, m.PeakBytes, m.Predicted)
	assert.Less(t, m.PeakBytes, m.Predicted+200<<20, "kernels and workspaces")
}

// TestBenchOnTheDeviceBesidePyTorch: the script hears of device and precision.
func TestBenchOnTheDeviceBesidePyTorch(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakePython, fmt.Sprint(oursParameters(t, "byte-transformer")))
	t.Setenv(fakeDevice, "--device cuda --precision bf16")
	r := onDevice(t, "-pytorch="+self, "-script", "../../benchmarks/pytorch.py", "-pytorch-modes", eager)
	require.Len(t, r.PyTorch, 1)
	require.Len(t, r.PyTorch[0].Rivals, 1)
	assert.InEpsilon(t, 0.5/r.PyTorch[0].Ours.StepSeconds, r.PyTorch[0].Rivals[0].Speedup, 1e-9)
}

// TestOursLearnsOnTheDevice: the device's losses are those of the CPU.
func TestOursLearnsOnTheDevice(t *testing.T) {
	chosen, err := (&call{zoo: models.Standard(), models: "byte-rmt", steps: 1, rounds: 1, batch: 1, seq: 8}).workloads()
	require.NoError(t, err)
	small := chosen[0].Preset
	small.Config.Layers = 1
	w, err := newWorkload("small", small, 1, 8)
	require.NoError(t, err)
	cpu, err := newOurs(w, target{Threads: 1})
	require.NoError(t, err)
	defer cpu.close()
	gpu, err := newOurs(w, target{Threads: 1, Device: graph.CUDA, Precision: graph.FP32})
	require.NoError(t, err)
	defer gpu.close()
	for step := range 3 {
		want, err := cpu.step()
		require.NoError(t, err)
		got, err := gpu.step()
		require.NoError(t, err)
		assert.InEpsilon(t, want, got, 1e-4, "step %d", step)
	}
}

// TestBenchThatDoesNotFit: the child, on a GPU of 8 kB, ends with the device's error.
func TestBenchThatDoesNotFit(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("a GPU has more memory")
	}
	t.Setenv("RESIDUA_EMULATOR_MEMORY", "8192")
	got := tiny("-device", "cuda")
	assert.Equal(t, cli.ExitRun, got.Code)
	assert.Contains(t, got.Stderr, "error: ours byte-rmt: ")
	assert.Contains(t, got.Stderr, "out of memory")
	assert.NotContains(t, got.Stderr, "panic")
}

//go:build cuda

package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/models"
)

// TestMain runs the device tests on the emulator, or on a GPU if RESIDUA_GPU says so.
func TestMain(m *testing.M) {
	if err := emulator.Use(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestResiduaLearnsOnTheDevice: the losses on the device equal those on the CPU.
func TestResiduaLearnsOnTheDevice(t *testing.T) {
	chosen, err := Choose(models.Standard(), []string{"byte-rmt"}, Size{Batch: 1, Seq: 8})
	require.NoError(t, err)
	small := chosen[0].Preset
	small.Config.Layers = 1
	w, err := newWorkload("small", small, 1, 8)
	require.NoError(t, err)
	cpu, err := newResidua(w, Target{Threads: 1})
	require.NoError(t, err)
	defer cpu.close()
	gpu, err := newResidua(w, Target{Threads: 1, Device: graph.CUDA, Precision: graph.FP32})
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

//go:build mpi && cuda && linux

package cli

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/trainer"
)

// TestMPIDevice trains by two processes, each with a GPU of its own.
func TestMPIDevice(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator has two GPUs on demand")
	}
	program, launcher := mpiProgram(t, "mpi cuda")
	job := func(t *testing.T, gpus int, args ...string) *launched {
		args = append([]string{"-set", "device.kind=cuda", "-set", "device.precision=fp32", "-set", "sample.tokens=0"}, args...)
		j := mpiJob(t, mpiYAML, program, launcher, 2, args...)
		j.Env = append(j.Env, fmt.Sprint("RESIDUA_EMULATOR_DEVICES=", gpus))
		return j
	}
	t.Run("trains", func(t *testing.T) {
		deviceTrains(t, job(t, 2, "-set", halfRun), job(t, 3, "-set", "device.index=1", "-resume", "auto"))
	})
	t.Run("one GPU", func(t *testing.T) {
		j := job(t, 1)
		require.Error(t, j.Run())
		require.Contains(t, j.text.String(), "device.index: want a GPU for each rank, got the one at 0000:01:00.0 on host ")
		require.Contains(t, j.text.String(), " for ranks 0 and 1: let each see all GPUs")
	})
	t.Run("two of three GPUs", func(t *testing.T) {
		j := job(t, 3, "-set", "device.index=2")
		require.Error(t, j.Run())
		require.Contains(t, j.text.String(), "rank 1: device.ranks: want a GPU for each of the 2 ranks on this host, from number 2 (device.index) on, got 3 that this rank sees")
	})
	t.Run("no NCCL", func(t *testing.T) {
		j := job(t, 2)
		j.Env = append(j.Env, "RESIDUA_GPU=1", "RESIDUA_NCCL=/nowhere/libnccl.so.2")
		require.Error(t, j.Run())
		require.Contains(t, j.text.String(), "no NCCL: RESIDUA_NCCL names /nowhere/libnccl.so.2")
	})
	for name, s := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run("rank 1 "+name, func(t *testing.T) { mpiFault(t, job(t, 2, "-set", "train.steps=1000000"), 1, s) })
	}
	t.Run("hangs", func(t *testing.T) {
		j := job(t, 2)
		j.Env = append(j.Env, "RESIDUA_EMULATOR_NCCL=hangs:5")
		begin := time.Now()
		require.Error(t, j.Run())
		require.Less(t, time.Since(begin), 30*time.Second)
		require.Regexp(t, `error: rank \d: gradients, by NCCL: not done 3`, j.text.String())
	})
}

// halfRun stops the run of mpiYAML after 6 of its 12 steps.
const halfRun = "train.stop.tokens=768"

// deviceTrains checks that one rank which goes on from the checkpoint of two ranks, begin, has the
// losses of one rank alone, and so have two ranks, end, that go on from its checkpoint on other
// GPUs.
func deviceTrains(t *testing.T, begin, end *launched) {
	goOn := func(out, resume string, more ...string) {
		code, _, stderr := runTrain(append([]string{"-config", filepath.Join(begin.dir, "tiny.yaml"), "-set", "data.path=[" + begin.dir + "/text.txt]", "-set", "device.ranks=1",
			"-set", "device.kind=cuda", "-set", "device.precision=fp32", "-set", "sample.tokens=0", "-out", out, "-resume", resume}, more...)...)
		require.Zero(t, code, stderr)
	}
	alone := filepath.Join(begin.dir, "alone")
	goOn(alone, "none")
	require.NoError(t, begin.Run(), begin.text.String())
	goOn(begin.out, "auto")
	goOn(end.out, "none", "-set", halfRun)
	require.NoError(t, end.Run(), end.text.String())
	want, err := trainer.ReadMetrics(alone)
	require.NoError(t, err)
	for _, out := range []string{begin.out, end.out} {
		got, err := trainer.ReadMetrics(out)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.InDelta(t, float64(want[i].Loss), float64(got[i].Loss), 1e-5, "step %d", i+1)
		}
	}
}

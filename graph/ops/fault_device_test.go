//go:build cuda

package ops_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestAFaultIsNamed: if a kernel makes a fault, and launches wait for the GPU to report it, the
// message names the case, the op and the kernel; the cases and families after it, which could only
// fail, do not run.
func TestAFaultIsNamed(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator has faults on demand")
	}
	command := exec.Command(os.Args[0], "-test.run=^TestDevice$/^(embedding|linear)$", "-test.v")
	command.Env = append(os.Environ(), "RESIDUA_EMULATOR_FAULTS=later", "RESIDUA_EMULATOR_FAULT=gather_grad_f32", "CUDA_LAUNCH_BLOCKING=1")
	out, err := command.CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, `(?s)CUDA_ERROR_ILLEGAL_ADDRESS.*launching kernel gather_grad_f32 on.*EmbeddingGrad\(`, string(out))
	require.Contains(t, string(out), "Embedding/vectors has left the GPU unusable: ")
	require.NotContains(t, string(out), "one_token", "a case after it")
	require.NotContains(t, string(out), "TestDevice/linear", "a family after it")
}

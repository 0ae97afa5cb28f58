package models

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPredictedMemory: parameters, gradients and moments are exact, and each setting that
// the error of a full GPU advises shrinks the prediction.
func TestPredictedMemory(t *testing.T) {
	preset, err := models.Standard().Preset("quickstart")
	require.NoError(t, err)
	spec := modeltest.Resolve(t, preset.Config)
	predict := func(t *testing.T, s training) graph.MemoryNeed {
		m, err := s.predict(spec)
		require.NoError(t, err)
		return m
	}
	plain := predict(t, training{8, "cuda", "tf32", "none"})
	n := spec.Cost().Parameters
	require.Equal(t, []int{4 * n, 4 * n, 8 * n}, []int{plain.Parameters, plain.Gradients, plain.Moments})
	half := predict(t, training{8, "cuda", "bf16", "none"})
	require.Equal(t, 6*n, half.Parameters, "with a 16-bit copy")
	require.Less(t, half.Activations, plain.Activations)
	require.Less(t, predict(t, training{4, "cuda", "tf32", "none"}).Activations, plain.Activations)
	require.Less(t, predict(t, training{8, "cuda", "tf32", "block"}).Activations, plain.Activations)
}

func TestMemoryRefuses(t *testing.T) {
	for _, args := range [][]string{{"-batch", "0"}, {"-precision", "fp8"}, {"-recompute", "some"}, {"-device", "tpu"}} {
		got := clitest.Call(Command(models.Standard()), append([]string{"-memory"}, args...)...)
		require.Equal(t, cli.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, args[0]+": want")
	}
}

func TestMemoryJSON(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-memory", "-json", "-batch", "1")
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var lines []presetMemory
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &lines))
	require.Len(t, lines, len(models.Standard().Presets()))
	for _, l := range lines {
		require.Equal(t, l.Memory.Total(), l.Total, l.Name)
	}
}

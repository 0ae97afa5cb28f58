package sae

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// TestSAELensComputesTheSame: SAELens opens the folders that Save writes and computes the same
// features and the same output; the folders that it saves open here, with the same bits. It runs
// where RESIDUA_PYTHON, or python3, has the package sae_lens.
func TestSAELensComputesTheSame(t *testing.T) {
	program := os.Getenv("RESIDUA_PYTHON")
	if program == "" {
		program = "python3"
	}
	if exec.Command(program, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('sae_lens') is None)").Run() != nil {
		t.Skip("RESIDUA_PYTHON names no Python with sae_lens")
	}
	const tokens, in = 5, 6
	all, dir, args := map[Architecture]*SAE{}, t.TempDir(), []string{filepath.Join("testdata", "saelens.py")}
	x, r := make([]float64, tokens*in), rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float64(float32(r.NormFloat64()))
	}
	for a, out := range map[Architecture]int{TopK: 6, Gated: 6, JumpReLU: 6, Transcoder: 4, SkipTranscoder: 4} {
		s, folder := random(t, a, in, 11, out), filepath.Join(dir, string(a))
		s.Metadata = Metadata{Model: "m", Name: "embedding.out", To: "norm.out", Context: 8, Lens: lensVersion}
		require.NoError(t, os.Mkdir(folder, 0o777))
		require.NoError(t, s.Save(folder))
		given := []checkpoint.Tensor{{Name: "x", Shape: []int{tokens, in}, Data: singles(x)}}
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "x.safetensors"), given, nil))
		all[a], args = s, append(args, folder)
	}
	text, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	for a, s := range all {
		folder := filepath.Join(dir, string(a))
		f, err := checkpoint.ReadTensors(filepath.Join(folder, "expected.safetensors"))
		require.NoError(t, err)
		runner, err := s.Open(tokens)
		require.NoError(t, err)
		features, y, err := runner.Run(x)
		require.NoError(t, err)
		runner.Close()
		got := map[string][]float64{"features": features, "y": y}
		active := 0
		for _, want := range f.Tensors {
			values, err := want.Float32s()
			require.NoError(t, err)
			require.Len(t, got[want.Name], len(values), "%s: %s", a, want.Name)
			assert.InDeltaSlice(t, values, singles(got[want.Name]), 2e-6, "%s: %s", a, want.Name)
		}
		for _, v := range features {
			if v != 0 {
				active++
			}
		}
		assert.Positive(t, active, a)
		again, err := Open(filepath.Join(folder, "again"))
		require.NoError(t, err, a)
		for _, p := range s.Store.Params() {
			assert.Equal(t, s.values(p.Name), again.values(p.Name), "%s: %s", a, p.Name)
		}
	}
}

// singles rounds numbers to float32.
func singles(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

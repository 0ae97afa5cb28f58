//go:build cuda

package eval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// TestLikelihoodsOnDevice: the device computes the likelihoods that the CPU computes, for a vector
// stream and for a matrix stream, whose features have two axes.
func TestLikelihoodsOnDevice(t *testing.T) {
	matrix := models.RMT(1, 4, 8, 2, 12)
	matrix.Vocab, matrix.BOS, matrix.Seq, matrix.Init = 257, 256, 6, models.InitLeCun
	resolved, err := matrix.Resolve()
	require.NoError(t, err)
	store, spec := tiny(t)
	for _, m := range []struct {
		store *graph.Store
		spec  models.Spec
	}{{store, spec}, {modeltest.NewStore(t, resolved, tensor.Float32, 1), resolved}} {
		requests := []eval.Request{{Context: ids("ab"), Continuation: ids("c")}, {Context: ids("ab"), Continuation: ids("de")}, {Context: ids("abcdefgh"), Continuation: ids("ijk")}}
		want, err := eval.Likelihoods(context.Background(), m.store, m.spec, requests, eval.Options{Threads: 1})
		require.NoError(t, err)
		got, err := eval.Likelihoods(context.Background(), m.store, m.spec, requests, eval.Options{Device: graph.CUDA, Precision: graph.FP32})
		require.NoError(t, err)
		for i := range want {
			assert.InDeltaSlice(t, want[i].LogProbs, got[i].LogProbs, 1e-5)
			assert.Equal(t, want[i].Greedy, got[i].Greedy)
		}
	}
}

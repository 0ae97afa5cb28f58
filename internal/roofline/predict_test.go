package roofline

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
)

// TestSecondsOfOnePiece: the longer of bytes and FLOPs, by hand.
func TestSecondsOfOnePiece(t *testing.T) {
	gpu, err := Find("a100")
	require.NoError(t, err)
	a := cuda.Array{Ptr: 256, Type: cuda.BF16}
	product := cuda.Gemm{M: 4096, N: 4096, K: 4096, A: a, LDA: 4096, B: a, LDB: 4096, C: a, LDC: 4096}
	w := cuda.Work{Product: &product, Bytes: product.Bytes()}
	assert.InEpsilon(t, 2e-6+2*4096.*4096*4096/(312e12*0.70), gpu.seconds(w, product.FLOPs(), graph.BF16), 1e-9)
	product.LDC = 4097
	assert.InEpsilon(t, 2e-6+2*4096.*4096*4096/(312e12*0.12), gpu.seconds(w, product.FLOPs(), graph.BF16), 1e-9, "rows that are no multiple of 16 bytes")
	product.LDC, product.Epilogue = 4096, cuda.GELU
	assert.InEpsilon(t, 2e-6+2*4096.*4096*4096/(312e12*0.49), gpu.seconds(w, product.FLOPs(), graph.BF16), 1e-9)
	product.Epilogue, product.N = cuda.NoEpilogue, 4095
	assert.InEpsilon(t, 2e-6+2*4096.*4096*4095/(312e12*0.12), gpu.seconds(w, product.FLOPs(), graph.BF16), 1e-9, "an odd size")
	assert.InEpsilon(t, 2e-6+1e9/(2039e9*0.84), gpu.seconds(cuda.Work{Kernel: "add_f32", Bytes: 1e9}, 0, graph.FP32), 1e-9)
	assert.InEpsilon(t, 2e-6+1e9/25e9, gpu.seconds(cuda.Work{Copy: cuda.CopyUp, Bytes: 1e9}, 0, graph.FP32), 1e-9)
}

// TestKernelsHaveTheirRow: the longest beginning of a kernel's name counts.
func TestKernelsHaveTheirRow(t *testing.T) {
	for kernel, want := range map[string]string{
		"attention_64_bf16": "attention", "attention_keys_64_bf16": "its backward pass", "attention_tile_starts": "its preparation",
		"normread_forward_bf16": "reads and writes of the matrix stream", "norm_forward_bf16": "norms", "sum_partials_f32": "sums over rows", "gather_grad_bf16": "gradients of gathers", "dropout_f32": "other kernels",
	} {
		assert.Equal(t, want, efficiencyOf(cuda.Work{Kernel: kernel}).Work, kernel)
	}
}

// TestAFasterGPUIsPredictedFaster, and a larger step slower.
func TestAFasterGPUIsPredictedFaster(t *testing.T) {
	preset, err := models.Standard().Preset("quickstart")
	require.NoError(t, err)
	c, err := preset.Config.Resolve()
	require.NoError(t, err)
	device := func(gpu string, precision graph.Precision, batch int) float64 {
		g, err := Find(gpu)
		require.NoError(t, err)
		p, err := Predict(c, Options{GPU: g, Precision: precision, Batch: batch})
		require.NoError(t, err)
		return p.DeviceSeconds
	}
	base := device("a100", graph.BF16, 8)
	assert.Less(t, device("h200", graph.BF16, 8), base)
	assert.Greater(t, device("a100", graph.FP32, 8), base)
	assert.Greater(t, device("a100", graph.BF16, 16), base)
}

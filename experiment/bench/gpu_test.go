package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/graph"
)

func TestPeaksByName(t *testing.T) {
	for name, want := range map[string]float64{
		"NVIDIA H100 80GB HBM3":  989.5,
		"NVIDIA H100 PCIe":       756.5,
		"NVIDIA H100 NVL":        835.5,
		"NVIDIA H200":            989.5,
		"NVIDIA GH200 480GB":     989.5,
		"NVIDIA A100-SXM4-80GB":  312,
		"NVIDIA A100 80GB PCIe":  312,
		"Tesla V100-SXM2-16GB":   0,
		"NVIDIA GeForce RTX 409": 0,
	} {
		assert.Equal(t, want, peakTFLOPS(name, graph.BF16), name)
	}
	assert.Equal(t, 494.5, peakTFLOPS("NVIDIA H100 80GB HBM3", graph.TF32))
	assert.Equal(t, 67.0, peakTFLOPS("NVIDIA H100 80GB HBM3", graph.FP32))
}

// gpuReport is like fakeReport, on a GPU of 600 GFLOPS.
func gpuReport(t *testing.T) *Report {
	r := fakeReport(t)
	r.Models, r.Sizes = r.Models[:1], nil
	r.Machine = &Machine{Threads: 2, GPU: "NVIDIA G1", Precision: graph.BF16, PeakGFLOPS: 600}
	r.shares()
	return r
}

func TestGPUReportAsText(t *testing.T) {
	r := gpuReport(t)
	assert.Equal(t, `machine: NVIDIA G1, bf16, peak 0.6 TFLOPS (data sheet, without sparsity)

Training speed

model    batch x seq  parameters  MFLOP/token  tokens/s  ms/step  GFLOPS  % of peak  peak MB  planned MB
-------  -----------  ----------  -----------  --------  -------  ------  ---------  -------  ----------
rmt-46m  8 x 256          45.00M        164.7      2048     1000     337        56%     1000         900

Compared with torch 9

model    implementation  tokens/s  ms/step  % of peak  peak MB  speedup  activation memory
-------  --------------  --------  -------  ---------  -------  -------  -----------------
rmt-46m  Residua             2048     1000        56%     1020
         PyTorch eager        585     3500        16%     4020    3.50x              0.09x
         torch.compile       1138     1800        31%     1720    1.80x              0.30x

speedup, activation memory: Residua's over that implementation's, where activation memory is the peak less 16 bytes a parameter
(weight, gradient, AdamW's moments); Residua's step clips the gradient, the others' do not
peak MB: Residua's is all that its program has taken of the GPU, kernels and cuBLAS included; PyTorch's, max_memory_allocated
`, r.String())
	assert.Equal(t, "Training speed, bf16, full steps", r.Picture().Title)
	r.Machine.PeakGFLOPS = 0
	r.shares()
	assert.Contains(t, r.String(), "machine: NVIDIA G1, bf16, peak unknown: give it as -peak TFLOPS\n")
	assert.Regexp(t, `(?m)^rmt-46m .* 337 +- +1000 +900$`, r.String())
}

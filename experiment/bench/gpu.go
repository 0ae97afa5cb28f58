package bench

import (
	"strings"

	"github.com/residua-go/residua/graph"
)

// gpuPeak is a GPU's peak in NVIDIA's data sheet: TFLOPS without sparsity, in 32-bit floats outside
// the tensor cores, and in TF32 and bfloat16 on them.
type gpuPeak struct {
	name             string // part of the driver's name of the GPU
	fp32, tf32, bf16 float64
}

// gpuPeaks lists the known GPUs; a name that is part of another one comes after it.
func gpuPeaks() []gpuPeak {
	return []gpuPeak{
		{"H100 PCIe", 51, 378, 756.5},
		{"H100 NVL", 60, 417.5, 835.5},
		{"H200 NVL", 60, 417.5, 835.5},
		{"H100", 67, 494.5, 989.5},
		{"H200", 67, 494.5, 989.5},
		{"A100", 19.5, 156, 312},
	}
}

// peakTFLOPS returns the data sheet's figure for a GPU, 0 if the GPU is not listed here.
func peakTFLOPS(gpu string, p graph.Precision) float64 {
	for _, known := range gpuPeaks() {
		if strings.Contains(gpu, known.name) {
			return map[graph.Precision]float64{graph.FP32: known.fp32, graph.TF32: known.tf32, graph.BF16: known.bf16}[p]
		}
	}
	return 0
}

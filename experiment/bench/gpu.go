package bench

import (
	"strings"

	"github.com/residua-go/residua/graph"
)

// gpuPeak is what NVIDIA's data sheet says that a GPU computes in a second: TFLOPS without
// sparsity, in 32-bit floats outside the tensor cores, and on them in TF32 and bfloat16.
type gpuPeak struct {
	name             string // what the driver's name of the GPU has in it
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

// peakTFLOPS returns the data sheet's figure for a GPU, 0 if it is not known here.
func peakTFLOPS(gpu string, p graph.Precision) float64 {
	for _, known := range gpuPeaks() {
		if strings.Contains(gpu, known.name) {
			return map[graph.Precision]float64{graph.FP32: known.fp32, graph.TF32: known.tf32, graph.BF16: known.bf16}[p]
		}
	}
	return 0
}

package main

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
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

func TestTargetOfFlags(t *testing.T) {
	for want, args := range map[target][]string{
		{Device: graph.CPU}: nil,
		{Threads: 3, Device: graph.CUDA, Precision: graph.TF32}: {"-device", "cuda", "-threads", "3"},
		{Device: graph.CUDA, Precision: graph.BF16}:             {"-device", "cuda", "-precision", "bf16", "-zoo"},
	} {
		c, flags := &call{}, flag.NewFlagSet("bench", flag.ContinueOnError)
		c.flags(flags)
		require.NoError(t, flags.Parse(args))
		got, err := c.target()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for want, args := range map[string][]string{
		`-device: want cpu or cuda, got "gpu"`:                       {"-device", "gpu"},
		"-precision and -peak: want them with -device cuda":          {"-precision", "bf16"},
		`-precision: want one of [fp32 tf32 bf16], got "fp16"`:       {"-device", "cuda", "-precision", "fp16"},
		"-peak: want > 0 TFLOPS, got -1":                             {"-device", "cuda", "-peak", "-1"},
		"-device cuda: want the model table or -zoo, got -stock, -t": {"-device", "cuda", "-gemm"},
	} {
		t.Run(want, func(t *testing.T) { clitest.Call(command(models.Standard()), args...).Refused(t, want) })
	}
}

// gpuReport is fakeReport's on a GPU of 600 GFLOPS.
func gpuReport(t *testing.T) *report {
	r := fakeReport(t)
	r.Models, r.Sizes = r.Models[:1], nil
	r.Machine = &machine{Threads: 2, GPU: "NVIDIA G1", Precision: graph.BF16, PeakGFLOPS: 600}
	r.Models[0].Share = r.Machine.share(r.Models[0].GFLOPS)
	return r
}

func TestGPUReportAsText(t *testing.T) {
	r := gpuReport(t)
	assert.Equal(t, `machine: NVIDIA G1, bf16, peak 0.6 TFLOPS (data sheet, without sparsity)

training  batch x seq  parameters  MFLOP a token  tokens/s  ms a step  GFLOPS  of peak  peak MB  planned MB
rmt-46m   8 x 256          45.00M          164.7      2048       1000     337      56%     1000         900

torch 9           tokens/s  ms a step  ours is  peak MB  our memory  of peak
rmt-46m  ours         2048       1000              1020                  56%
         eager         585       3500    3.50x     4020       0.09x      16%
         compile      1138       1800    1.80x     1720       0.30x      31%
our memory: the peak beyond 16 bytes a parameter (weight, gradient, moments) over theirs; PyTorch's step does not clip, ours does
peak MB: ours, what the program has taken of the GPU, kernels and cuBLAS included; PyTorch's, max_memory_allocated of its steps
`, r.String())
	assert.Equal(t, "Training speed, bf16, full steps", speedChart(r).Title)
	r.Machine.PeakGFLOPS = 0
	r.Models[0].Share = r.Machine.share(r.Models[0].GFLOPS)
	assert.Contains(t, r.String(), "machine: NVIDIA G1, bf16, peak unknown: -peak TFLOPS names it\n")
	assert.Regexp(t, `(?m)^rmt-46m .* 337 +- +1000 +900$`, r.String())
}

package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
)

func TestTargetOfFlags(t *testing.T) {
	for given, want := range map[bench.Target]bench.Target{
		{Device: graph.CPU}:                         {Device: graph.CPU},
		{Device: graph.CPU, Precision: graph.FP32}:  {Device: graph.CPU},
		{Device: graph.CPU, Precision: graph.BF16}:  {Device: graph.CPU, Precision: graph.BF16},
		{Threads: 3, Device: graph.CUDA}:            {Threads: 3, Device: graph.CUDA, Precision: graph.TF32},
		{Device: graph.CUDA, Precision: graph.BF16}: {Device: graph.CUDA, Precision: graph.BF16},
	} {
		got, err := target{Target: given}.options()
		require.NoError(t, err)
		assert.Equal(t, want, got.Target)
	}
	for want, args := range map[string][]string{
		`-device: want cpu, cuda or, of several GPUs, cuda:1, got "gpu"`: {"-device", "gpu"},
		"-peak: want it with -device cuda":                               {"-peak", "1"},
		"-precision: want fp32 or bf16 on the cpu":                       {"-precision", "tf32"},
		`-precision: want one of [fp32 tf32 bf16], got "fp16"`:           {"-device", "cuda", "-precision", "fp16"},
		"-peak: want >= 0, got -1":                                       {"-device", "cuda", "-peak", "-1"},
		"unknown flag -device":                                           {"gemm", "-device", "cuda"},
	} {
		t.Run(want, func(t *testing.T) { execute(args...).Refused(t, want) })
	}
}

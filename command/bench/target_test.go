package bench

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
)

func TestTargetOfFlags(t *testing.T) {
	for want, args := range map[bench.Target][]string{
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
		`-device: want cpu, cuda or, of several GPUs, cuda:1, got "gpu"`: {"-device", "gpu"},
		"-peak: want it with -device cuda":                               {"-peak", "1"},
		"-precision: want fp32 on the cpu":                               {"-precision", "bf16"},
		`-precision: want one of [fp32 tf32 bf16], got "fp16"`:           {"-device", "cuda", "-precision", "fp16"},
		"-peak: want > 0 TFLOPS, got -1":                                 {"-device", "cuda", "-peak", "-1"},
		"-device cuda: want the model table or -zoo, got -stock, -t":     {"-device", "cuda", "-gemm"},
	} {
		t.Run(want, func(t *testing.T) { execute(args...).Refused(t, want) })
	}
}

package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
)

func TestBenchTargetOfFlags(t *testing.T) {
	for given, want := range map[graph.Precision]graph.Precision{graph.FP32: "", graph.BF16: graph.BF16} { // TestBench has the default
		got := benchTiny("-models", "byte-transformer", "-threads", "2", "-precision", string(given), "-json")
		require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
		var r bench.Report
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
		assert.Equal(t, want, r.Machine.Precision, given)
		assert.Equal(t, 2, r.Machine.Threads)
		assert.Empty(t, r.Machine.GPU)
	}
	for want, args := range map[string][]string{
		`-device: want cpu, cuda or, of several GPUs, cuda:1, got "gpu"`: {"-device", "gpu"},
		"-peak: want it with -device cuda":                               {"-peak", "1"},
		"-precision: want fp32 or bf16 on the cpu":                       {"-precision", "tf32"},
		`-precision: want one of [fp32 tf32 bf16], got "fp16"`:           {"-device", "cuda", "-precision", "fp16"},
		"-peak: want >= 0, got -1":                                       {"-device", "cuda", "-peak", "-1"},
		"unknown flag -device":                                           {"gemm", "-device", "cuda"},
	} {
		t.Run(want, func(t *testing.T) { callBench(args...).Refused(t, want) })
	}
}

//go:build cuda

package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
)

// BenchmarkDeviceStream measures, on a GPU in bf16, what rmt-134m does with its stream at 32 rows
// of 512 tokens: reads by the 36 keys of its heads and by the 12 of its features, writes of rank
// 12, and their gradients. For each op it reports the microseconds of one call, and the bytes a
// second, counting each array that the op must read or write once. By default a write and the
// NormRead after it are one op; RESIDUA_FUSION=0 separates them. On the emulator it runs a few
// tokens, whose times mean nothing.
func BenchmarkDeviceStream(b *testing.B) {
	rows, seq := 32, 512
	if emulator.Emulated() {
		rows, seq = 2, 4
	}
	for _, m := range []int{36, 12} {
		s := streamShape{rows * seq, 32, 64, m}
		b.Run(fmt.Sprintf("%d keys", m), func(b *testing.B) { s.benchmark(b, rows, seq) })
	}
}

const streamRank = 12 // number of keys of a write

func (s streamShape) benchmark(b *testing.B, rows, seq int) {
	store := graph.NewStore(tensor.Float32, 3)
	o := graph.Options{Device: graph.CUDA, Precision: graph.BF16, Store: store, Seed: 5, Training: true}
	p, err := graph.Compile(graph.ProgramOptions{Options: o, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		return graph.Roots{Loss: s.readAndWritten(b, rows, seq)}, b.Err()
	})
	require.NoError(b, err)
	defer func() {
		p.Close()
		require.NoError(b, store.Close())
	}()
	for i, ids := 0, p.Ints("tokens"); i < len(ids); i++ {
		ids[i] = int32(i * 7 % 256)
	}
	for range 3 {
		require.NoError(b, p.Run(graph.RunOptions{}))
	}
	for b.Loop() {
		require.NoError(b, p.Run(graph.RunOptions{Profile: true}))
	}
	require.NoError(b, p.EndProfile())
	for _, row := range p.Profile() {
		bytes := s.traffic(row.OpType)
		if bytes == 0 || row.Calls == 0 {
			continue
		}
		seconds, name := row.Seconds/float64(row.Calls), strings.ReplaceAll(row.OpType, " ", "_")
		b.ReportMetric(seconds*1e6, name+"-us")
		b.ReportMetric(float64(bytes)/seconds/1e9, name+"-GB/s")
	}
}

// readAndWritten computes the loss of a stream that is stored, read, written and read again.
func (s streamShape) readAndWritten(b *graph.Builder, rows, seq int) *gorgonia.Node {
	param := func(name string, shape ...int) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.3)})
	}
	tokens := b.Input("tokens", tensor.Int32, rows, seq)
	e := embedding.Gather(b, param("table", 256, streamRank, s.dv), tokens, 1)
	first := readwrite.Write(b, nil, param("store", streamRank, s.dk), e)
	y := readwrite.NormRead(b, first, param("gain", s.dk, s.dv), param("keys", s.keys()...), norm.Options{})
	second := readwrite.Write(b, first, param("write", streamRank, s.dk), e)
	z := readwrite.NormRead(b, second, param("last gain", s.dk, s.dv), param("last keys", s.keys()...), norm.Options{})
	return loss.CrossEntropy(b, b.Add(y, z), param("unembedding", s.m*s.dv, 256), tokens, loss.Options{})
}

// traffic returns the bytes that an op must read and write in bfloat16, each array once; 0 for ops
// that do nothing with a stream.
func (s streamShape) traffic(op string) int {
	matrix, read, written := 2*s.tokens*s.dk*s.dv, 2*s.tokens*s.m*s.dv, 2*s.tokens*streamRank*s.dv
	return map[string]int{
		"NormRead LayerNorm":          matrix + read,
		"GradX of NormRead LayerNorm": 3*matrix + read,
		"Write":                       2*matrix + written,
		"GradY and GradKeys of Write": matrix + 2*written,

		"Write and NormRead LayerNorm":                                2*matrix + written + read,
		"GradX of NormRead LayerNorm and GradY and GradKeys of Write": 3*matrix + read + 2*written,
	}[op]
}

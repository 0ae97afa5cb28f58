//go:build cuda

package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
	"github.com/residua-go/residua/internal/longtest"
)

// streamShape is the shape of a matrix stream and the number of keys that read it or write to it.
type streamShape struct{ tokens, dk, dv, m int }

func (s streamShape) x() []int    { return []int{s.tokens, s.dk, s.dv} }
func (s streamShape) keys() []int { return []int{s.m, s.dk} }

// deviceStreamShapes are sizes that the kernels divide among blocks differently from the small
// sizes of the other cases.
func deviceStreamShapes() map[string]streamShape {
	return map[string]streamShape{
		"whole tiles":                  {9, 32, 32, 16},
		"rmt-46m features":             {1, 32, 32, 12},
		"rmt-134m heads":               {11, 32, 64, 36},
		"rmt-134m features":            {13, 32, 64, 12},
		"rmt-206m features":            {5, 48, 64, 14},
		"most keys of a token":         {3, 32, 64, 64},
		"rmt-305m heads":               {5, 64, 64, 48},
		"rmt-206m heads":               {5, 48, 64, 42},
		"rmt-305m features":            {6, 64, 64, 16},
		"parts of tiles":               {7, 21, 24, 5},
		"two slabs":                    {5, 72, 64, 19},
		"two parts of the keys":        {5, 32, 64, 70},
		"slabs of one tile":            {2, 40, 256, 17},
		"keys that fill shared memory": {1, 900, 64, 33},
		"rows that fit no block":       {2, 3, 264, 4},
		"keys that fit no block":       {2, 5, 8, 1500},
	}
}

// normReadTwice reads with two norms, so that the first one's gradient is added to the second's.
func (s streamShape) normReadTwice(o norm.Options) optest.Case {
	return optest.Case{Name: "NormRead " + o.Params().String(), Floats: [][]int{s.x(), s.x()[1:], s.keys(), s.x()[1:], s.keys()},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return b.Add(readwrite.NormRead(b, x[0], x[1], x[2], o), readwrite.NormRead(b, x[0], x[3], x[4], o))
		}}
}

func (s streamShape) cases() []optest.Case {
	return []optest.Case{
		s.normReadTwice(norm.Options{}),
		s.normReadTwice(norm.Options{RMS: true}),
		{Name: "Read", Floats: [][]int{s.x(), s.keys()},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return readwrite.Read(b, x[0], x[1]) }},
		{Name: "Write", Floats: [][]int{s.x(), s.keys(), {s.tokens, s.m, s.dv}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return readwrite.Write(b, x[0], x[1], x[2])
			}},
		{Name: "Store", Floats: [][]int{{s.tokens, s.m, s.dv}, s.keys()},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return readwrite.Write(b, nil, x[1], x[0]) }},
	}
}

// TestDeviceStream compares reads and writes of all kinds and sizes with the CPU.
func TestDeviceStream(t *testing.T) {
	if testing.Short() {
		t.Skip("large matrices on the emulator")
	}
	for name, shape := range deviceStreamShapes() {
		for _, c := range shape.cases() {
			t.Run(fmt.Sprintf("%s/%s", name, c.Name), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
		}
	}
}

// TestDeviceStreamOfManyTokens has three tokens or more for most warps that run at once, so that
// places in shared memory are reused. Only kernels in bfloat16 keep tokens there.
func TestDeviceStreamOfManyTokens(t *testing.T) {
	longtest.Skip(t)
	cases := (streamShape{1601, 64, 64, 16}).cases()
	both := (streamShape{2700, 32, 64, 12}).writtenAndRead(norm.Options{})
	for _, c := range []optest.Case{cases[0], cases[3], both} { // NormRead, Write
		t.Run(c.Name, func(t *testing.T) {
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			o := graph.Options{Device: graph.CUDA, Precision: graph.BF16}
			optest.CheckOnDevice(t, c, want, o, false, optest.DeviceTolerances()[graph.BF16])
		})
	}
}

// kernels returns the names of the kernels that training launches in bfloat16.
func (s streamShape) kernels(t *testing.T) []string {
	t.Helper()
	return recordedKernels(t, graph.ProgramOptions{Gradients: true}, graph.BF16, func(b *graph.Builder) *gorgonia.Node {
		return s.readAndWritten(b, 2, 4)
	})
}

// recordedKernels returns the names of the kernels that a program launches to compute a loss, or
// without gradients any output.
func recordedKernels(t *testing.T, o graph.ProgramOptions, p graph.Precision, build func(*graph.Builder) *gorgonia.Node) (names []string) {
	t.Helper()
	recording, err := graph.Record(o, cuda.NewRecorder(p, 132), func(b *graph.Builder) (graph.Roots, error) {
		n := build(b)
		if o.Gradients {
			return graph.Roots{Loss: n}, b.Err()
		}
		return graph.Roots{Outputs: gorgonia.Nodes{n}}, b.Err()
	})
	require.NoError(t, err)
	for _, op := range recording.Ops {
		for _, w := range op.Work {
			names = append(names, w.String())
		}
	}
	return names
}

// TestDeviceNormReadOfLargeMean has entries whose mean is far larger than their deviation: the
// normalised entries must still be right to the last digits.
func TestDeviceNormReadOfLargeMean(t *testing.T) {
	s := streamShape{3, 16, 16, 4}
	shifted := func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
		half := elementwise.Sigmoid(b, elementwise.Scale(b, x, 0))
		return b.Add(x, elementwise.Scale(b, half, 6000))
	}
	for _, c := range []optest.Case{
		{Name: "Norm", Floats: [][]int{s.x(), s.x()[1:]},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return norm.Apply(b, shifted(b, x[0]), x[1], norm.Options{})
			}},
		{Name: "NormRead", Floats: [][]int{s.x(), s.x()[1:], s.keys()},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return readwrite.NormRead(b, shifted(b, x[0]), x[1], x[2], norm.Options{})
			}},
	} {
		t.Run(c.Name, func(t *testing.T) {
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			got := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, true)
			got.Run(t, graph.RunOptions{})
			optest.RequireClose(t, want.Tensors(t), got.Tensors(t), 1e-5)
		})
	}
}

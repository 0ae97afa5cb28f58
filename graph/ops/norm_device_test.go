//go:build cuda

package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceNorm has rows that fit into one warp, into several warps or only into loops, and enough
// of them that several blocks share the gradients of the gain and the bias.
func TestDeviceNorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long rows on the emulator")
	}
	for _, s := range []normShape{{70, 64, 0}, {21, 300, 0}, {21, 520, 0}, {9, 1056, 0}, {5, 1500, 0}, {3, 4096, 0}, {3, 8200, 0}, {2, 4500, 3}, {9, 48, 3}} {
		for _, rms := range []bool{false, true} {
			c := s.normTwice(norm.Options{Groups: s.groups, RMS: rms})
			t.Run(fmt.Sprintf("%d rows of %d, %s", s.rows, s.width, c.Name), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
		}
	}
}

// normShape is a number of rows of groups (0 means 1) times width entries.
type normShape struct{ rows, width, groups int }

// normTwice normalises twice, so that the first norm's gradient is added to the second's; the
// second norm has a bias.
func (s normShape) normTwice(o norm.Options) optest.Case {
	gain := []int{s.width}
	if s.groups > 0 {
		gain = []int{s.groups, s.width}
	}
	x := append([]int{s.rows}, gain...)
	return optest.Case{Name: o.Params().String(), Floats: [][]int{x, gain, gain, gain},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			biased := o
			biased.Bias = x[3]
			return b.Add(norm.Apply(b, x[0], x[1], o), norm.Apply(b, x[0], x[2], biased))
		}}
}

// TestDeviceNormLinear has rows, widths and columns that several blocks share, and adds to a
// gradient from another reader.
func TestDeviceNormLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large matrices on the emulator")
	}
	for _, s := range []struct{ rows, width, columns int }{
		{300, 64, 6}, {70, 300, 24}, {33, 257, 80}, {40, 1024, 33}, {1, 129, 32}, {200, 6, 20}, {35, 132, 13},
	} {
		for _, rms := range []bool{false, true} {
			o := norm.Options{RMS: rms}
			c := optest.Case{Floats: [][]int{{s.rows, s.width}, {s.width, s.columns}, {s.width}, {s.width, s.columns}},
				Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
					return b.Add(norm.Linear(b, x[0], x[2], x[1], o), norm.Linear(b, x[0], nil, x[3], norm.Options{Eps: 1e-2}))
				}}
			t.Run(fmt.Sprintf("%v rms=%t", s, rms), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
		}
	}
}

// TestDeviceNormLinearOfLargeMean: a large mean does not cost z digits.
func TestDeviceNormLinearOfLargeMean(t *testing.T) {
	checkLargeMean(t, [][]int{{9, 300}, {300, 5}}, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
		return norm.Linear(b, x[0], nil, x[1], norm.Options{})
	})
}

// TestDeviceNormOfLargeMean has rows that fit into registers and rows that are read a second time.
func TestDeviceNormOfLargeMean(t *testing.T) {
	for _, width := range []int{304, 300, 9000} {
		checkLargeMean(t, [][]int{{3, width}, {width}}, func(b *graph.Builder, x gorgonia.Nodes) *gorgonia.Node {
			return norm.Apply(b, x[0], x[1], norm.Options{})
		})
	}
}

// checkLargeMean compares with the CPU for rows, the first of the inputs, whose mean is far larger
// than their deviation.
func checkLargeMean(t *testing.T, inputs [][]int, build func(*graph.Builder, gorgonia.Nodes) *gorgonia.Node) {
	t.Helper()
	far := slices.Repeat([]float32{3000}, inputs[0][0]*inputs[0][1])
	c := optest.Case{Floats: inputs,
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			x[0] = b.Add(x[0], b.Apply(optest.WeightedLossGrad{Weights: far, X: graph.SignatureOf(x[0])}, x[0]))
			return build(b, x)
		}}
	want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
	want.Run(t, graph.RunOptions{})
	got := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, true)
	got.Run(t, graph.RunOptions{})
	optest.RequireClose(t, want.Tensors(t), got.Tensors(t), 1e-5)
}

// TestDeviceCoefficientsStayFloats checks which outputs keep 32 bits in precision bf16.
func TestDeviceCoefficientsStayFloats(t *testing.T) {
	c := optest.Case{Floats: [][]int{{4, 8}, {8, 3}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return norm.Linear(b, elementwise.Scale(b, x[0], 2), nil, x[1], norm.Options{})
	}}
	p := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA, Precision: graph.BF16}, false)
	require.Equal(t, tensor.Float32, p.Program.Roots().Outputs[0].Dtype())
	require.Equal(t, 4, graph.StorageOf(p.Program.Roots().Outputs[0]).Size())
	seen := false
	for _, n := range p.Program.Builder().Graph().AllNodes() {
		if k := graph.PrimitiveOf(n); k != nil && strings.HasPrefix(k.String(), "GradX of NormLinear") {
			require.Equal(t, 2, graph.StorageOf(n).Size(), "the gradient of an activation")
			seen = true
		}
	}
	require.True(t, seen)
}

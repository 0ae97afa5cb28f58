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
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
)

// writtenAndRead stores vectors into a stream, reads it, writes to it and reads it again, as blocks
// of an RMT do: each NormRead can be computed with the write before it, and the gradient of each
// write with that of the NormRead after it.
func (s streamShape) writtenAndRead(o norm.Options) optest.Case {
	vectors, gain := []int{s.tokens, streamRank, s.dv}, s.x()[1:]
	write := []int{streamRank, s.dk}
	return optest.Case{Name: o.Params().String(), Floats: [][]int{vectors, write, gain, s.keys(), write, gain, s.keys()},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			stored := readwrite.Write(b, nil, x[1], x[0])
			first := readwrite.NormRead(b, stored, x[2], x[3], o)
			written := readwrite.Write(b, stored, x[4], x[0])
			return b.Add(first, readwrite.NormRead(b, written, x[5], x[6], o))
		}}
}

// fusedShapes are sizes with kernels of their own for a write and a NormRead together.
func fusedShapes() []streamShape {
	return []streamShape{{11, 32, 32, 36}, {9, 32, 64, 36}, {13, 32, 64, 12}, {5, 48, 64, 42}, {6, 48, 64, 14}, {5, 64, 64, 48}, {7, 64, 64, 16}}
}

// TestDeviceStreamFusion: a write and a NormRead in one pass compute what the CPU computes, and,
// bit for bit, what they compute apart, except for the gradients of keys and gains, which other
// blocks sum.
func TestDeviceStreamFusion(t *testing.T) {
	t.Setenv("RESIDUA_EMULATOR_CAPABILITY", "9.0") // 64 x 64 needs more shared memory than 8.6 has
	for _, s := range fusedShapes() {
		for _, o := range []norm.Options{{}, {RMS: true}} {
			c := s.writtenAndRead(o)
			t.Run(fmt.Sprintf("%dx%d, %d keys, %s", s.dk, s.dv, s.m, c.Name), func(t *testing.T) {
				want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
				want.Run(t, graph.RunOptions{})
				options := graph.Options{Device: graph.CUDA, Precision: graph.BF16}
				optest.CheckOnDevice(t, c, want, options, false, optest.DeviceTolerances()[graph.BF16])
				fused := optest.NewProbe(t, c, options, false)
				fused.Run(t, graph.RunOptions{Profile: true})
				require.NoError(t, fused.Program.EndProfile())
				var names []string
				for _, k := range fused.Program.Kernels() {
					names = append(names, k.Name)
				}
				require.Contains(t, names, s.kernel("write_normread"))
				require.Contains(t, names, s.kernel(s.backward("normread_write_backward")))
				t.Setenv("RESIDUA_FUSION", "0")
				apart := optest.NewProbe(t, c, options, false)
				apart.Run(t, graph.RunOptions{})
				a, f := apart.Tensors(t), fused.Tensors(t)
				require.Equal(t, a["output"], f["output"])
				require.Equal(t, a["gradient of x0"], f["gradient of x0"])
				optest.RequireClose(t, a, f, 1e-5)
			})
		}
	}
}

// TestFusedStreamKernels: the kernels for both ops are launched, instead of those for one, unless
// RESIDUA_FUSION=0.
func TestFusedStreamKernels(t *testing.T) {
	for _, s := range fusedShapes() {
		apart := []string{"write", "normread_forward", s.backward("normread_backward"), "write_grad"}
		together := []string{"write_normread", s.backward("normread_write_backward")}
		for _, on := range []bool{true, false} {
			want, other := together, apart
			if !on {
				t.Setenv("RESIDUA_FUSION", "0")
				want, other = apart, together
			}
			names := s.kernels(t)
			for _, k := range want {
				require.Contains(t, names, s.kernel(k))
			}
			for _, k := range other {
				require.NotContains(t, names, s.kernel(k))
			}
		}
		t.Setenv("RESIDUA_FUSION", "")
	}
}

// TestStreamNotFused: a write is not computed with a NormRead in another precision, nor if the
// NormRead needs something that comes after the write, or reads the stream through a hook.
func TestStreamNotFused(t *testing.T) {
	s, small := streamShape{8, 32, 64, 12}, func(b *graph.Builder, name string, shape ...int) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.3)})
	}
	read := func(b *graph.Builder, x, keys *gorgonia.Node) *gorgonia.Node {
		return readwrite.NormRead(b, x, small(b, "gain", s.dk, s.dv), keys, norm.Options{})
	}
	for name, c := range map[string]struct {
		precision graph.Precision
		hooks     graph.Hooks
		fused     bool
		build     func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node
	}{
		"fused": {graph.BF16, nil, true, func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
			return read(b, b.Hook("stream", x), small(b, "keys", s.keys()...))
		}},
		"another precision": {graph.TF32, nil, false, func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
			return read(b, x, small(b, "keys", s.keys()...))
		}},
		"a hook": {graph.BF16, graph.Hooks{"stream": nil}, false, func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
			return read(b, b.Hook("stream", x), small(b, "keys", s.keys()...))
		}},
		"keys that are computed": {graph.BF16, nil, false, func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
			return read(b, x, elementwise.Scale(b, small(b, "keys", s.keys()...), 2))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := graph.ProgramOptions{Options: graph.Options{Hooks: c.hooks}}
			names := recordedKernels(t, o, c.precision, func(b *graph.Builder) *gorgonia.Node {
				e := embedding.Gather(b, small(b, "table", 256, s.m, s.dv), b.Input("tokens", tensor.Int32, 2, 4), 1)
				return c.build(b, readwrite.Write(b, nil, small(b, "write", s.keys()...), e))
			})
			require.Equal(t, c.fused, slices.Contains(names, s.kernel("write_normread")), names)
		})
	}
}

// backward adds to the name of a backward kernel, for method kernel, how many keys it has room for.
func (s streamShape) backward(name string) string {
	if s.m <= 16 {
		return name + "/16"
	}
	return name + "/48"
}

// kernel returns a kernel's name from what precedes the stream's sizes and, after a slash, follows
// them.
func (s streamShape) kernel(name string) string {
	name, keys, some := strings.Cut(name, "/")
	name = fmt.Sprintf("%s_%dx%d", name, s.dk, s.dv)
	if some {
		name += "_" + keys
	}
	return name + "_bf16"
}

// TestFusedStreamOutOfMemory: if the memory of the second op's statistics is not to be had, the run
// ends with that error, before a kernel that would write them; with memory, the next run is right.
func TestFusedStreamOutOfMemory(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator's memory can be limited")
	}
	c := (streamShape{300, 32, 64, 12}).writtenAndRead(norm.Options{})
	o := graph.Options{Device: graph.CUDA, Precision: graph.BF16}
	p, want := optest.NewProbe(t, c, o, false), optest.NewProbe(t, c, o, false)
	want.Run(t, graph.RunOptions{})
	limit := emulator.Counters().InUse + 1024
	t.Setenv("RESIDUA_EMULATOR_MEMORY", fmt.Sprint(limit))
	err := p.Program.Run(graph.RunOptions{})
	require.ErrorContains(t, err, "Store")
	require.ErrorContains(t, err, "out of memory")
	t.Setenv("RESIDUA_EMULATOR_MEMORY", "")
	p.Run(t, graph.RunOptions{})
	require.Equal(t, want.Tensors(t), p.Tensors(t))
}

//go:build cuda

package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/graph/kernel"
)

// bareAttention launches attention's kernels in bf16 without a graph.
type bareAttention struct {
	attentionShape
	device                 *cuda.Device
	qkv, out, dout, dqkv   cuda.Array
	lse, delta             cuda.Array
	starts, slopes, angles cuda.Array
	allocated              []cuda.Array
}

func newBareAttention(t testing.TB, s attentionShape) *bareAttention {
	d, err := cuda.Open(cuda.Options{Precision: cuda.PrecisionBF16})
	require.NoError(t, err)
	a := &bareAttention{attentionShape: s, device: d}
	t.Cleanup(func() {
		for _, x := range a.allocated {
			d.Free(x)
		}
		assert.NoError(t, d.Close())
	})
	tokens, r := s.batch*s.seq, rand.New(rand.NewPCG(1, 2))
	normal := func(n int) cuda.Array {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		narrow := a.alloc(t, cuda.BF16, n)
		require.NoError(t, d.Convert(narrow, a.upload(t, cuda.F32, n, unsafe.Pointer(&x[0]))))
		return narrow
	}
	a.qkv, a.dout = normal(tokens*3*s.heads*s.dim), normal(tokens*s.heads*s.dim)
	a.out, a.dqkv = a.alloc(t, cuda.BF16, a.dout.N), a.alloc(t, cuda.BF16, a.qkv.N)
	a.lse, a.delta = a.alloc(t, cuda.F32, tokens*s.heads), a.alloc(t, cuda.F32, tokens*s.heads)
	o := s.options()
	if s.slopes {
		slopes := narrowed(o.Slopes)
		a.slopes = a.upload(t, cuda.F32, s.heads, unsafe.Pointer(&slopes[0]))
	}
	if s.rope {
		angles := ropeAngles(o.RopeBase, kernel.RopeStretch{}, s.dim, s.dim, s.seq)
		a.angles = a.upload(t, cuda.F32, len(angles), unsafe.Pointer(&angles[0]))
	}
	if s.starts {
		starts := make([]int32, tokens)
		for i := range starts {
			starts[i] = s.start(i/s.seq, i%s.seq)
		}
		a.starts = a.upload(t, cuda.I32, tokens, unsafe.Pointer(&starts[0]))
	}
	return a
}

func (a *bareAttention) alloc(t testing.TB, kind cuda.Type, n int) cuda.Array {
	x, err := a.device.Alloc(kind, n)
	require.NoError(t, err)
	a.allocated = append(a.allocated, x)
	return x
}

func (a *bareAttention) upload(t testing.TB, kind cuda.Type, n int, host unsafe.Pointer) cuda.Array {
	x := a.alloc(t, kind, n)
	require.NoError(t, a.device.Upload(x, host))
	return x
}

// launcher returns a function that launches a pass with one of its kernels.
func (a *bareAttention) launcher(t testing.TB, pass attentionPass, tile namedTile) func() error {
	sizes := cuda.Args{cuda.Float(a.options().Scale), cuda.Ints(a.seq, a.heads, a.heads, a.dim)}
	args := cuda.Args{a.out, a.lse, a.qkv, cuda.Array{}, cuda.Array{}, a.starts, a.slopes, a.angles, sizes, cuda.Array{}, cuda.Int(0)}
	if pass.name != "forward" {
		args = cuda.Args{a.dqkv, a.qkv, a.out, a.dout, a.lse, a.delta, a.starts, a.tileStarts(t, tile.columns), a.slopes, a.angles, sizes}
	}
	grid := tile.grid(a.batch*a.heads, a.seq, pass.bytes(tile.attentionTile, cuda.BF16.Size()))
	return func() error { return a.device.Launch(tile.kernel+"_bf16", grid, args) }
}

func (a *bareAttention) tileStarts(t testing.TB, tile int) cuda.Array {
	if a.starts.None() {
		return cuda.Array{}
	}
	tiles := cuda.CeilDiv(a.seq, tile)
	first := a.alloc(t, cuda.I32, a.batch*tiles)
	a.run(t, func() error {
		return a.device.Launch("attention_tile_starts", cuda.Grid{X: a.batch * tiles, Threads: 32}, first, a.starts, cuda.Ints(a.seq, tile, tiles))
	})
	return first
}

// run waits for a launch to end and returns how long it took.
func (a *bareAttention) run(t testing.TB, launch func() error) (microseconds float64) {
	took, err := a.device.Timed(launch)
	require.NoError(t, err)
	return float64(took.Nanoseconds()) / 1e3
}

func (a *bareAttention) floats(t *testing.T, x cuda.Array) []float32 {
	wide, host := a.alloc(t, cuda.F32, x.N), make([]float32, x.N)
	require.NoError(t, a.device.Convert(wide, x))
	require.NoError(t, a.device.Download(unsafe.Pointer(&host[0]), wide))
	return host
}

// kernelsFor returns the pass's kernels for heads of dim numbers; the first is the one that
// programs use.
func (p attentionPass) kernelsFor(dim int) []namedTile {
	for _, tile := range p.used {
		if tile.dim == dim {
			return append([]namedTile{tile}, p.measured...)
		}
	}
	return nil
}

// TestDeviceMeasuredAttention: the kernels that exist only to be measured compute what those in use
// compute, with the same bits in two runs.
func TestDeviceMeasuredAttention(t *testing.T) {
	for _, s := range []attentionShape{
		{batch: 3, seq: 210, heads: 1, dim: 64},
		{batch: 2, seq: 170, heads: 1, dim: 64, slopes: true, rope: true, starts: true},
	} {
		t.Run(s.String(), func(t *testing.T) {
			a := newBareAttention(t, s)
			for _, pass := range attentionPasses(cuda.PrecisionBF16) {
				result := a.dqkv
				if pass.name == "forward" {
					result = a.out
				}
				var want []float32
				for i, tile := range pass.kernelsFor(64) {
					var got [2][]float32
					for run := range got {
						a.run(t, func() error { return a.device.Zero(result) })
						a.run(t, a.launcher(t, pass, tile))
						got[run] = a.floats(t, result)
					}
					require.Equal(t, got[0], got[1], tile.kernel)
					if i == 0 {
						want = got[0]
					}
					requireRoundedNear(t, want, got[0], tile.kernel)
				}
			}
		})
	}
}

// requireRoundedNear compares numbers that are rounded to 8 bits, as are the intermediate results.
func requireRoundedNear(t *testing.T, want, got []float32, name string) {
	t.Helper()
	var most, error float64
	for i := range want {
		most = max(most, math.Abs(float64(want[i])))
		error = max(error, math.Abs(float64(want[i]-got[i])))
	}
	require.Positive(t, most, name)
	require.Less(t, error, 0.01*most, name)
}

// BenchmarkDeviceAttention times every bf16 kernel for heads of 64 numbers on a GPU, the one in use
// first:
//
//	RESIDUA_GPU=1 go test -tags cuda ./graph/ops/attention -run '^$' -bench DeviceAttention -benchtime 100x
func BenchmarkDeviceAttention(b *testing.B) {
	if emulator.Emulated() {
		b.Skip("want a GPU, got the emulator: set RESIDUA_GPU=1")
	}
	for _, s := range []attentionShape{{batch: 32, seq: 512, heads: 12, dim: 64}, {batch: 16, seq: 1024, heads: 12, dim: 64}} {
		a := newBareAttention(b, s)
		for _, pass := range attentionPasses(cuda.PrecisionBF16) {
			for _, tile := range pass.kernelsFor(s.dim) {
				b.Run(fmt.Sprintf("%dx%d/%s", s.batch, s.seq, tile.kernel), func(b *testing.B) { benchmarkKernel(b, a, pass, tile) })
			}
		}
	}
}

func benchmarkKernel(b *testing.B, a *bareAttention, pass attentionPass, tile namedTile) {
	launch := a.launcher(b, pass, tile)
	a.run(b, launch) // loads the kernel
	took := a.run(b, func() error {
		for range b.N {
			if err := launch(); err != nil {
				return err
			}
		}
		return nil
	}) / float64(b.N)
	flops := float64(pass.products) * float64(a.batch*a.heads*a.dim) * float64(a.seq*a.seq) // each query sees half of the keys
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took, "µs")
	b.ReportMetric(flops/took/1e6, "TFLOP/s")
}

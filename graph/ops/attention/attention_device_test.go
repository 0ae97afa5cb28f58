//go:build cuda

package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/optest"
)

// attentionShape is the shape of an attention that takes several blocks and tiles, and fills none
// of them exactly.
type attentionShape struct {
	batch, seq, heads, dim int
	slopes, rope, starts   bool
}

func (s attentionShape) String() string {
	return fmt.Sprintf("batch=%d seq=%d heads=%d dim=%d slopes=%t rope=%t starts=%t",
		s.batch, s.seq, s.heads, s.dim, s.slopes, s.rope, s.starts)
}

func (s attentionShape) options() Options {
	o := Options{Heads: s.heads, Seq: s.seq, Scale: 1 / math.Sqrt(float64(s.dim))}
	for h := range s.heads {
		if s.slopes {
			o.Slopes = append(o.Slopes, math.Exp2(-float64(h)-6))
		}
	}
	if s.rope {
		o.RopeBase = 10000
	}
	return o
}

// opCase returns the test case of the attention, over random numbers.
func (s attentionShape) opCase() optest.Case {
	c := optest.Case{Name: s.String(), Floats: [][]int{{s.batch * s.seq, 3, s.heads, s.dim}},
		Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			o := s.options()
			if s.starts {
				o.Starts = ids[0]
			}
			return Causal(b, x[0], o)
		}}
	if s.starts {
		c.Ints = []optest.IntInput{{Shape: []int{s.batch, s.seq}, Draw: func(_ *rand.Rand, i int) int32 { return s.start(i/s.seq, i%s.seq) }}}
	}
	return c
}

// start returns document starts: documents begin with the last key of a block and fill several
// tiles. In the second row, the first document ends within a warp's queries that see whole tiles of
// it. The last tokens of long rows have starts beyond themselves and see only themselves.
func (s attentionShape) start(row, i int) int32 {
	if i >= 270 {
		return int32(i + 100)
	}
	start := 0
	for _, begin := range [][]int{{1, 31, 63, 127, 196, 255}, {34, 200}}[row%2] {
		if begin <= i {
			start = begin
		}
	}
	return int32(start)
}

// TestDeviceAttention compares attention and its gradient with the CPU's for every kernel
// and option.
func TestDeviceAttention(t *testing.T) {
	shapes := []attentionShape{
		{batch: 2, seq: 150, heads: 2, dim: 8},
		{batch: 1, seq: 201, heads: 2, dim: 64},
		{batch: 2, seq: 210, heads: 1, dim: 64, slopes: true, rope: true, starts: true},
		{batch: 2, seq: 170, heads: 1, dim: 128, slopes: true, rope: true, starts: true},
	}
	if !testing.Short() {
		shapes = append(shapes,
			attentionShape{batch: 1, seq: 290, heads: 2, dim: 32, slopes: true, rope: true, starts: true},
			attentionShape{batch: 1, seq: 257, heads: 1, dim: 7, starts: true},
			attentionShape{batch: 1, seq: 140, heads: 3, dim: 20, rope: true},
			attentionShape{batch: 2, seq: 170, heads: 1, dim: 96, slopes: true, rope: true, starts: true},
			attentionShape{batch: 1, seq: 333, heads: 1, dim: 64, starts: true},
			attentionShape{batch: 1, seq: 100, heads: 2, dim: 80, rope: true},
			attentionShape{batch: 1, seq: 90, heads: 1, dim: 200, slopes: true, rope: true, starts: true},
			attentionShape{batch: 1, seq: 129, heads: 1, dim: 256, rope: true},
		)
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			c := s.opCase()
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			for precision, tolerance := range optest.DeviceTolerances() {
				t.Run(string(precision), func(t *testing.T) {
					optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: precision}, false, tolerance)
				})
			}
		})
	}
}

// TestDeviceAttentionOfLargeLogits checks that no weight overflows, and that a row forgets its
// first keys if their weights are next to nothing. Logits of up to 1,000 in 32 bits have errors of
// up to 1e-4, and so have their weights.
func TestDeviceAttentionOfLargeLogits(t *testing.T) {
	s := attentionShape{batch: 1, seq: 140, heads: 1, dim: 16, rope: true}
	c := s.opCase()
	c.Build = func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		o := s.options()
		o.Scale = -40
		return Causal(b, x[0], o)
	}
	want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
	want.Run(t, graph.RunOptions{})
	optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, false, 1e-4)
}

func TestDeviceAttentionRefusesLargeHeads(t *testing.T) {
	c := attentionShape{batch: 1, seq: 2, heads: 1, dim: 264}.opCase()
	p := optest.NewProbe(t, c, graph.Options{Device: graph.CUDA}, false)
	optest.RequireLine(t, p.Program.Run(graph.RunOptions{}), "want heads of at most 256 numbers on a GPU, got 264")
}

// cachedAttention builds attention over looked-up tokens [rows, seq].
func cachedAttention(s attentionShape, vocab int) graph.BuildFunc {
	return func(b *graph.Builder) (graph.Roots, error) {
		tokens := b.Input("tokens", tensor.Int32, s.batch, s.seq)
		o := s.options()
		if s.starts {
			o.Starts = DocumentStarts(b, tokens, 2, 0)
		}
		qkv := embedding.Gather(b, b.Param(graph.ParamSpec{Name: "e", Shape: []int{vocab, 3, s.heads, s.dim}, Init: graph.Normal(1)}), tokens, 1)
		return graph.Roots{Outputs: gorgonia.Nodes{Causal(b, qkv, o)}}, nil
	}
}

// TestDeviceCachedAttention feeds tokens to a program with a cache, one by one and in runs of
// several, in rows of different length and in any order of the cache's rows, and compares with a
// program that sees all tokens at once; it does this twice, with a Reset between.
func TestDeviceCachedAttention(t *testing.T) {
	for _, c := range []struct {
		attentionShape
		runs []int // number of tokens of each run; each has its own program
	}{
		{attentionShape{batch: 2, seq: 9, heads: 2, dim: 5, starts: true}, []int{1, 3, 9}},
		{attentionShape{batch: 3, seq: 12, heads: 2, dim: 64, slopes: true, rope: true, starts: true}, []int{1, 4}},
		{attentionShape{batch: 1, seq: 600, heads: 1, dim: 16, slopes: true, rope: true}, []int{8, 150}},
		{attentionShape{batch: 1, seq: 300, heads: 2, dim: 100, rope: true, starts: true}, []int{5, 100}},
		{attentionShape{batch: 1, seq: 20, heads: 1, dim: 256, rope: true}, []int{1, 10}},
	} {
		if testing.Short() && c.seq > 500 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			for precision, tolerance := range optest.DeviceTolerances() {
				for _, n := range c.runs {
					t.Run(fmt.Sprintf("%s/%d", precision, n), func(t *testing.T) {
						checkCachedAttention(t, c.attentionShape, n, precision, tolerance)
					})
				}
			}
		})
	}
}

func checkCachedAttention(t *testing.T, s attentionShape, n int, precision graph.Precision, tolerance float64) {
	const vocab = 17
	o := graph.Options{Device: graph.CUDA, Precision: precision, Seed: 3}
	whole, err := graph.Compile(graph.ProgramOptions{Options: o}, cachedAttention(s, vocab))
	require.NoError(t, err)
	defer whole.Close()
	cache, err := graph.NewCache(s.batch+1, s.seq)
	require.NoError(t, err)
	part := s
	part.seq = n
	o.Cache = cache
	cached, err := graph.Compile(graph.ProgramOptions{Options: o}, cachedAttention(part, vocab))
	require.NoError(t, err)
	defer cached.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		tokens := whole.Ints("tokens")
		for i := range tokens {
			tokens[i] = int32(r.IntN(vocab))
		}
		require.NoError(t, whole.Run(graph.RunOptions{}))
		want, got := outputOf(t, whole), make([]float64, s.batch*s.seq*s.heads*s.dim)
		width := s.heads * s.dim
		for first := true; ; first = false {
			runs, left := make([]graph.RunRow, s.batch), 0
			for row := range runs {
				at := cache.Len(s.batch - row)
				runs[row] = graph.RunRow{Row: s.batch - row, Tokens: min(n, s.seq-at)}
				if first && row > 0 {
					runs[row].Tokens = n / 2
				}
				copy(cached.Ints("tokens")[row*n:][:n], tokens[row*s.seq+at:(row+1)*s.seq])
				left += s.seq - at
			}
			if left == 0 {
				break
			}
			require.NoError(t, cached.Run(graph.RunOptions{Rows: runs}))
			y := outputOf(t, cached)
			for row, run := range runs {
				at := (row*s.seq + cache.Len(run.Row) - run.Tokens) * width
				copy(got[at:], y[row*n*width:][:run.Tokens*width])
				for _, v := range y[row*n*width:][:n*width] {
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "tokens that count for nothing")
				}
			}
		}
		optest.RequireClose(t, map[string][]float64{"output": want}, map[string][]float64{"output": got}, tolerance)
		cache.Reset()
	}
}

func outputOf(t *testing.T, p *graph.Program) []float64 {
	t.Helper()
	v, err := graph.Value(p.Roots().Outputs[0])
	require.NoError(t, err)
	return graph.Float64s(v)
}

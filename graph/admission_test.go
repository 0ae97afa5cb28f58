package graph_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// product2 multiplies an input of n rows by a weight.
func product2(n int) graph.BuildFunc {
	return func(b *graph.Builder) (graph.Roots, error) {
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{4, 8}, Init: graph.Normal(1)})
		y := linear.Map(b, b.Input("x", tensor.Float32, n, 4), w, linear.Options{})
		return graph.Roots{Outputs: gorgonia.Nodes{elementwise.Gelu(b, y, false)}}, b.Err()
	}
}

// TestProgramBeyondMemoryIsRefused: buffers that do not fit into memory are refused in one line
// that says how much they take, and none of them is allocated.
func TestProgramBeyondMemoryIsRefused(t *testing.T) {
	store := graph.NewStore(tensor.Float32, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n, want := range map[int64]string{
		1 << 24: "want about 805 MB of memory (activations 805 MB), got 500 MB available: fewer rows",
		1 << 38: "want about 13 TB of memory (activations 13 TB), got 500 MB available: fewer rows",
		1 << 42: "want at most 17592186044416 entries",
	} {
		if n > math.MaxInt {
			continue
		}
		_, err := graph.Compile(graph.ProgramOptions{Memory: 5e8, Options: graph.Options{Store: store}}, product2(int(n)))
		optest.RequireLine(t, err, want)
	}
	if huge := int64(1) << 38; huge <= math.MaxInt {
		_, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store}}, product2(int(huge)))
		optest.RequireLine(t, err, "want about 13 TB of memory")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	p, err := graph.Compile(graph.ProgramOptions{Memory: 5e8, Options: graph.Options{Store: store}}, product2(8))
	require.NoError(t, err)
	p.Close()
}

// TestAdmissionCountsWhatIsMissing: gradients and moments count for a program with gradients, until
// they are allocated; a prediction without values gives the same numbers.
func TestAdmissionCountsWhatIsMissing(t *testing.T) {
	build := func(b *graph.Builder) (graph.Roots, error) {
		roots, err := product2(2)(b)
		return graph.Roots{Loss: gorgonia.Must(gorgonia.Sum(roots.Outputs[0]))}, err
	}
	store := graph.NewStore(tensor.Float32, 1)
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Store: store}}
	p, err := graph.Compile(o, build)
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, graph.MemoryNeed{Moments: 2 * 4 * 32, Activations: p.Plan().Bytes() + 4*8}, p.Missing())
	require.NoError(t, store.EnsureMoments(store.Param("w"), 2))
	require.Equal(t, graph.MemoryNeed{Activations: p.Plan().Bytes() + 4*8}, p.Missing())
	want, err := graph.PredictMemory(o, build)
	require.NoError(t, err)
	require.Equal(t, graph.MemoryNeed{Parameters: 128, Gradients: 128, Moments: 256, Activations: p.Plan().Bytes()}, want)
}

// TestThreadsHaveABound: a number of threads that no machine can use is refused.
func TestThreadsHaveABound(t *testing.T) {
	for _, n := range []int{1025, math.MaxInt} {
		optest.RequireLine(t, graph.On(gorgonia.NewGraph(), graph.Options{Threads: n}).Err(), "graph: threads: want at most 1024, got")
	}
}

func TestAvailableMemory(t *testing.T) {
	n := graph.AvailableMemory()
	require.Greater(t, n, 1<<20)
	if runtime.GOOS == "linux" {
		require.Less(t, int64(n), int64(1)<<50, "known on Linux")
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 KB", 9949: "9.9 KB", 9950: "10 KB", 999_600: "1.0 MB", 22e9: "22 GB", math.MaxInt64: "9.2 EB"} {
		if n <= math.MaxInt {
			require.Equal(t, want, graph.FormatBytes(int(n)))
		}
	}
}

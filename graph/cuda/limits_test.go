package cuda

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKernelsFitABlock: each kernel's registers and static shared memory, which kernels.tsv has
// from NVIDIA's assembler, allow its largest number of threads, and its static shared memory is
// what modules.go says.
func TestKernelsFitABlock(t *testing.T) {
	const registers = 65536 // registers of a block, on all architectures
	text, err := os.ReadFile("kernels.tsv")
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(text)) {
		var name string
		var used, shared [2]int
		var spills int
		if _, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d\t%d\t%d", &name, &used[0], &shared[0], &spills, &used[1], &shared[1]); err != nil {
			continue // a heading
		}
		e, ok := entryOf(name)
		if !assert.True(t, ok, "%s: want a compiled kernel, got none of that name", name) {
			continue
		}
		seen++
		for i := range used {
			assert.LessOrEqual(t, (used[i]+7)/8*8*e.threads, registers, name) // registers are assigned eight at a time
			assert.Equal(t, e.shared, shared[i], name)
		}
	}
	kernels := 0
	for _, m := range modules {
		kernels += len(m.entries)
	}
	assert.Equal(t, kernels, seen)
}

func TestArchitectureRefuses(t *testing.T) {
	least := Architectures()[1]
	good := Grid{X: 1, Threads: 256}
	require.NoError(t, least.Check("normread_backward_fp32", good))
	for want, g := range map[string]Grid{
		"want 1 to 256 threads a block, got 512": {X: 1, Threads: 512},
		"got 1 x 65536 x 0":                      {X: 1, Y: 1 << 16, Threads: 32},
		"want at most 101376 bytes of shared memory on compute capability 8.6, got 101376 and 256 of its own": {X: 1, Threads: 32, Shared: 99 << 10},
	} {
		require.ErrorContains(t, least.Check("normread_backward_fp32", g), want)
	}
	require.ErrorContains(t, least.Check("none", good), "want one of the compiled kernels")
}

func TestMisalignedOperands(t *testing.T) {
	at := func(p uint64) Array { return Array{Ptr: p, Type: BF16} }
	g := Gemm{M: 64, N: 50257, K: 32, A: at(256), LDA: 32, B: at(512), LDB: 50257, C: at(768), LDC: 50264}
	require.Equal(t, []string{"B"}, g.Misaligned())
	g.B, g.LDB = at(514), 50264
	require.Equal(t, []string{"B"}, g.Misaligned(), "its first element")
	g.B, g.K = at(512), 1
	require.Empty(t, g.Misaligned())
	g.LDB = 50257
	require.Empty(t, g.Misaligned(), "one row")
	g.LDB, g.Batch, g.StrideC = 50264, 2, 4
	require.Equal(t, []string{"C"}, g.Misaligned())
}

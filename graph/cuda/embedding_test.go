//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	cpu "github.com/residua-go/residua/graph/kernel"
)

// intsOnDevice uploads x.
func intsOnDevice(t *testing.T, d *Device, x []int32) Array {
	t.Helper()
	a, err := d.Alloc(I32, len(x))
	require.NoError(t, err)
	t.Cleanup(func() { d.Free(a) })
	require.NoError(t, d.Upload(a, unsafe.Pointer(unsafe.SliceData(x))))
	return a
}

func intsOnHost(t *testing.T, d *Device, a Array) []int32 {
	t.Helper()
	x := make([]int32, a.N)
	require.NoError(t, d.Download(unsafe.Pointer(unsafe.SliceData(x)), a))
	return x
}

// launchOn runs one kernel.
func launchOn(t *testing.T, d *Device, name string, grid Grid, args ...Arg) {
	t.Helper()
	leave, err := d.Enter()
	require.NoError(t, err)
	defer leave()
	require.NoError(t, d.Launch(name, grid, args...))
}

// repeatedIDs draws token ids: one occurs more than half of the time, some are rare and some are
// outside a vocabulary of 40.
func repeatedIDs(n int) []int32 {
	r := rand.New(rand.NewPCG(3, 4))
	ids := make([]int32, n)
	for i := range ids {
		if r.IntN(5) < 2 {
			ids[i] = int32(r.IntN(40))
		} else {
			ids[i] = 7
		}
	}
	return ids
}

// TestOrderTokens compares with a stable sort.
func TestOrderTokens(t *testing.T) {
	d := testDevice(t)
	for _, n := range []int{1, 31, 700} {
		ids := repeatedIDs(n)
		order, sorted := intsOnDevice(t, d, make([]int32, n)), intsOnDevice(t, d, make([]int32, n))
		launchOn(t, d, "order_tokens", Grid{X: (n + 31) / 32, Threads: 256}, order, sorted, intsOnDevice(t, d, ids), Int(n))
		var wantOrder, wantSorted []int32
		for id := range int32(40) {
			for i, other := range ids {
				if other == id {
					wantOrder, wantSorted = append(wantOrder, int32(i)), append(wantSorted, id)
				}
			}
		}
		assert.Equal(t, wantOrder, intsOnHost(t, d, order))
		assert.Equal(t, wantSorted, intsOnHost(t, d, sorted))
	}
}

// TestGatherGradOfRepeatedTokens sums more rows for one token than a block reads at once, over more
// columns than it sums at once.
func TestGatherGradOfRepeatedTokens(t *testing.T) {
	const tokens, vocab, width, scale = 700, 40, 530, 0.25
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	r := rand.New(rand.NewPCG(5, 6))
	dy, before := make([]float32, tokens*width), make([]float32, vocab*width)
	for i := range dy {
		dy[i] = float32(r.NormFloat64())
	}
	for i := range before {
		before[i] = float32(r.NormFloat64())
	}
	ids := repeatedIDs(tokens)
	dtable, idArray := onDevice(t, d, before, 0), intsOnDevice(t, d, ids)
	order, sorted := intsOnDevice(t, d, ids), intsOnDevice(t, d, ids)
	launchOn(t, d, "order_tokens", Grid{X: (tokens + 31) / 32, Threads: 256}, order, sorted, idArray, Int(tokens))
	launchOn(t, d, "gather_grad_f32", Grid{X: tokens, Y: 2, Threads: 256}, dtable, onDevice(t, d, dy, 1),
		order, sorted, Float(scale), Int(tokens), Int(vocab), Int(width))
	var k cpu.Embedding[float32]
	require.NoError(t, k.Backward(pool, before, dy, ids, vocab, width, scale, true))
	assert.InDeltaSlice(t, before, onHost(t, d, dtable), 2e-5)
}

// TestGatherOutsideTheVocabulary checks that only the table's memory is read.
func TestGatherOutsideTheVocabulary(t *testing.T) {
	d := testDevice(t)
	ids := []int32{2, -1, 0, 3, math.MaxInt32}
	table := []float32{1, 2, 3, 4, 5, 6} // [3, 2]
	y := onDevice(t, d, make([]float32, len(ids)*2), 0)
	launchOn(t, d, "gather_f32", QuadRows(len(ids), 2), y, onDevice(t, d, table, 0), intsOnDevice(t, d, ids),
		Float(2), Int(len(ids)), Int(3), Int(2))
	got := onHost(t, d, y)
	assert.Equal(t, []float32{10, 12}, got[:2])
	assert.Equal(t, []float32{2, 4}, got[4:6])
	for _, i := range []int{2, 3, 6, 7, 8, 9} {
		assert.True(t, math.IsNaN(float64(got[i])), "entry %d: %v", i, got[i])
	}
}

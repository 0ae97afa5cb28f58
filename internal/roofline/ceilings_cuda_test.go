//go:build cuda

package roofline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/models"
)

// TestMain makes the tests' device: the emulator, or a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) {
	if err := emulator.Use(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newMeter(t *testing.T) *meter {
	d, err := cuda.Open(cuda.Options{Precision: cuda.PrecisionFP32})
	require.NoError(t, err)
	m := &meter{Device: d, draw: rand.New(rand.NewPCG(1, 2))}
	t.Cleanup(func() {
		m.close()
		assert.Zero(t, d.Used(), "bytes that were not given back")
		require.NoError(t, d.Close())
	})
	return m
}

// TestOperandsAreRandomAndRotate: each product has arrays of its own, of random numbers, and all of
// them are more than a cache holds.
func TestOperandsAreRandomAndRotate(t *testing.T) {
	m := newMeter(t)
	g := cuda.Gemm{M: 1 << 11, K: 1 << 10, N: 1 << 10, Alpha: 1, LDA: 1 << 10, LDB: 1 << 10, LDC: 1 << 10, TransB: true}
	sets, free, err := m.operands(g)
	defer free()
	require.NoError(t, err)
	assert.Equal(t, 1+rotated/(20<<20), len(sets))
	fused := g
	fused.Epilogue = cuda.DGELU
	more, freeMore, err := m.operands(fused)
	defer freeMore()
	require.NoError(t, err)
	assert.Equal(t, 1+rotated/(28<<20), len(more), "what the epilogue reads counts")
	seen := map[uint64]bool{}
	for _, s := range append(sets, more...) {
		for _, a := range []cuda.Array{s.A, s.B, s.C, s.Aux} {
			if a.None() && s.Epilogue == cuda.NoEpilogue {
				continue
			}
			assert.False(t, seen[a.Ptr], "one array twice")
			seen[a.Ptr] = true
		}
	}
	last := sets[len(sets)-1].A
	got := make([]float32, last.N)
	require.NoError(t, m.Download(unsafe.Pointer(&got[0]), last))
	sum, squares := 0.0, 0.0
	for _, v := range got {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	assert.InDelta(t, 0, sum/float64(last.N), 0.01)
	assert.InDelta(t, 1, squares/float64(last.N), 0.01)
}

// TestSecondsAreOfManyRuns: short work runs until about the asked time is over, on one operand
// after another; long work once more.
func TestSecondsAreOfManyRuns(t *testing.T) {
	m := newMeter(t)
	var numbers []int
	took, err := m.seconds(20*time.Millisecond, func(i int) error {
		numbers = append(numbers, i)
		time.Sleep(time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	assert.Less(t, took, 0.02)
	assert.Greater(t, len(numbers), 3)
	assert.Equal(t, len(numbers)-3, numbers[len(numbers)-1])
}

// TestCeilings: each product of a step has a row, also where there is no cuBLASLt for its epilogue.
func TestCeilings(t *testing.T) {
	const note = "without the epilogue, which cuBLASLt does not have"
	assert.NotContains(t, ceilings(t, 1), note)
	t.Setenv("RESIDUA_CUBLASLT", "0")
	assert.Contains(t, ceilings(t, 2), note) // of other shapes
}

// ceilings is what Ceilings prints.
func ceilings(t *testing.T, batch int) string {
	p, err := models.Standard().Preset("quickstart")
	require.NoError(t, err)
	p.Config.Layers, p.Config.Seq = 1, 8
	spec, err := p.Config.Resolve()
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Ceilings(spec, Options{Batch: batch, Precision: graph.BF16}, &out))
	products, err := productsOf(spec, Options{Batch: batch, Precision: graph.BF16, GPU: GPU{Multiprocessors: 1}})
	require.NoError(t, err)
	require.NotEmpty(t, products)
	for _, p := range products {
		assert.Contains(t, out.String(), p.String()+" ")
	}
	assert.Regexp(t, fmt.Sprintf(`: copies [1-9]\d* GB/s; all products of a step of %d x 8 in bf16: `, batch), out.String())
	return out.String()
}

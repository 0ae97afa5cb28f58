package kernel

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testCarve[T Float](t *testing.T) {
	var a arena
	for _, n := range [][2]int{{3, 5}, {0, 7}, {100, 1}, {16, 16}, {5, 0}} {
		first, second := carve[T](&a, n[0], n[1])
		require.Len(t, first, n[0])
		require.Len(t, second, n[1])
		for i := range first {
			first[i] = 1
		}
		for i := range second {
			second[i] = 2
		}
		for _, v := range first {
			require.EqualValues(t, 1, v, "the slices overlap")
		}
		if len(first) > 0 {
			assert.Zero(t, uintptr(unsafe.Pointer(&first[0]))%cacheLine)
		}
		if len(second) > 0 {
			assert.Zero(t, uintptr(unsafe.Pointer(&second[0]))%cacheLine)
		}
	}
	assert.Zero(t, testing.AllocsPerRun(5, func() { carve[T](&a, 60, 40) }))
}

func TestArenaCarve(t *testing.T) {
	testCarve[float32](t)
	testCarve[float64](t)
}

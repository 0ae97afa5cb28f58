package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdd(t *testing.T) {
	for _, n := range []int{0, 1, 13, 2*addBlock + 17} {
		for count := range 6 {
			for _, accumulate := range []bool{false, true} {
				t.Run(fmt.Sprint(n, count, accumulate), func(t *testing.T) {
					testAdd[float32](t, n, count, accumulate)
					testAdd[float64](t, n, count, accumulate)
				})
			}
		}
	}
}

// testAdd compares with a sum from left to right in T: the bits must be equal.
func testAdd[T Float](t *testing.T, n, count int, accumulate bool) {
	old := normals[T](1, n, 1)
	inputs := make([][]T, count)
	for i := range inputs {
		inputs[i] = normals[T](uint64(2+i), n, 1)
	}
	sum := func(j int, start T, inputs [][]T) T {
		for _, x := range inputs {
			start += x[j]
		}
		return start
	}
	want, wantAlias := make([]T, n), make([]T, n)
	for j := range want {
		var start, startAlias T
		if accumulate {
			start = old[j]
		}
		if count > 0 {
			if accumulate {
				startAlias = inputs[0][j]
			}
			wantAlias[j] = sum(j, startAlias, inputs)
		}
		want[j] = sum(j, start, inputs)
	}
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		var k Add[T]
		out := slices.Clone(old)
		k.Run(p, Of(out), floatRows(inputs), accumulate)
		require.Equal(t, want, out)
		if count > 0 {
			first := slices.Clone(inputs[0])
			k.Run(p, Of(first), floatRows(append([][]T{first}, inputs[1:]...)), accumulate)
			require.Equal(t, wantAlias, first, "out is inputs[0]")
		}
		p.Close()
	}
}

func TestAddWarmAllocatesNothing(t *testing.T) {
	out := make([]float32, 1000)
	inputs := floatRows([][]float32{normals[float32](1, 1000, 1), out, out})
	p := NewPool(2)
	var k Add[float32]
	requireNoAllocations(t, func() { k.Run(p, Of(out), inputs, true) })
}

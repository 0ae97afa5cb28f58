package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGemmActivated: the bits are the same as those of a product followed by an activation.
func TestGemmActivated(t *testing.T) {
	for _, d := range [][3]int{{1, 1, 1}, {5, 3, 7}, {33, 64, 200}, {140, 40, 1100}} {
		for _, transposed := range []bool{false, true} {
			for _, f := range []Activation{GeluTanh, GeluExact, ReLUSquared, ReLU} {
				t.Run(fmt.Sprint(d, transposed, f), func(t *testing.T) {
					testGemmActivated[float32](t, d, transposed, f)
					testGemmActivated[float64](t, d, transposed, f)
				})
			}
		}
	}
}

func testGemmActivated[T Float](t *testing.T, d [3]int, transposed bool, f Activation) {
	rows, in, out := d[0], d[1], d[2]
	activate, gradient := InstanceOf[T](Activate[float32], Activate[float64]), InstanceOf[T](ActivateGradient[float32], ActivateGradient[float64])
	draw := rand.New(rand.NewPCG(1, uint64(rows)))
	fresh := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(draw.NormFloat64())
		}
		return x
	}
	x, w := fresh(rows*in), fresh(in*out)
	p := NewPool(2)
	defer p.Close()
	ldw := choose(transposed, in, out)
	wantH, wantY, h, y := make([]T, rows*out), make([]T, rows*out), make([]T, rows*out), make([]T, rows*out)
	(&Gemm[T]{}).Run(p, false, transposed, rows, out, in, 1, x, in, w, ldw, 0, wantH, out)
	(&Elementwise[T]{}).Run(p, activate, [][]T{wantY}, [][]T{wantH}, float64(f))
	k := &GemmElementwise[T]{}
	forward := func() {
		k.Run(p, transposed, rows, out, in, x, w, h, activate, [][]T{y}, [][]T{h}, float64(f))
	}
	forward()
	require.Equal(t, wantH, h)
	require.Equal(t, wantY, y)

	dy := fresh(rows * out)
	want, got := make([]T, rows*in), make([]T, rows*in)
	(&Gemm[T]{}).Run(p, false, !transposed, rows, in, out, 1, dy, out, w, ldw, 0, want, in)
	(&Elementwise[T]{}).Run(p, gradient, [][]T{want}, [][]T{want, x}, float64(f))
	backward := func() {
		k.Run(p, !transposed, rows, in, out, dy, w, got, gradient, [][]T{got}, [][]T{got, x}, float64(f))
	}
	backward()
	require.Equal(t, want, got)
	require.Zero(t, testing.AllocsPerRun(3, func() {
		forward()
		backward()
	}))
}

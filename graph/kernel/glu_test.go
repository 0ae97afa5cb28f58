package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// gluCase is one size of a GLU with its inputs.
type gluCase[T Float] struct {
	rows, width int
	x, dy       []T
	addends     [][]T
}

func newGLUCase[T Float](rows, width, addends int) gluCase[T] {
	c := gluCase[T]{rows: rows, width: width, x: normals[T](1, 2*rows*width, 2), dy: normals[T](2, rows*width, 1)}
	for i := range addends {
		c.addends = append(c.addends, normals[T](uint64(3+i), rows*width, 1))
	}
	return c
}

// naive computes y and dx by the equations in float64.
func (c gluCase[T]) naive() (y, dx []float64) {
	y, dx = make([]float64, c.rows*c.width), make([]float64, 2*c.rows*c.width)
	for i := range c.rows {
		for j := range c.width {
			at, gateAt := i*c.width+j, 2*i*c.width+j
			valueAt := gateAt + c.width
			gate, value, dy := float64(c.x[gateAt]), float64(c.x[valueAt]), float64(c.dy[at])
			y[at] = naiveSigmoid(gate) * value
			for _, a := range c.addends {
				y[at] += float64(a[at])
			}
			dx[valueAt] = dy * naiveSigmoid(gate)
			dx[gateAt] = dy * value * naiveSigmoid(gate) * naiveSigmoid(-gate)
		}
	}
	return y, dx
}

func TestGLU(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 5}, {7, 64}, {2, 131}} {
		for addends := range 4 {
			t.Run(fmt.Sprint(size, addends), func(t *testing.T) {
				forEachPath[float32](t, func(t *testing.T, p path) {
					testGLU(t, newGLUCase[float32](size[0], size[1], addends), p, 4e-7)
				})
				testGLU(t, newGLUCase[float64](size[0], size[1], addends), portable, 1e-14)
			})
		}
	}
}

func testGLU[T Float](t *testing.T, c gluCase[T], on path, tolerance float64) {
	wantY, wantDx := c.naive()
	var first []T
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		y, dx := make([]T, len(wantY)), make([]T, len(wantDx))
		k := GLU[T]{path: on}
		k.Forward(p, y, c.x, c.addends, c.rows, c.width)
		k.Backward(p, dx, c.dy, c.x, c.rows, c.width)
		requireNear(t, wantY, y, tolerance, "forward")
		requireNear(t, wantDx, dx, tolerance, "backward")
		if first == nil {
			first = y
		}
		require.Equal(t, first, y, "the bits depend on the threads")
		if n := len(c.addends); n > 0 {
			last := slices.Clone(c.addends[n-1])
			k.Forward(p, last, c.x, append(slices.Clone(c.addends[:n-1]), last), c.rows, c.width)
			require.Equal(t, y, last, "y is the last addend")
		}
		p.Close()
	}
}

// TestGLUAddsFromTheLast: adding an addend to the result instead gives the same bits, so that a
// caller can look at the sum before the addition.
func TestGLUAddsFromTheLast(t *testing.T) {
	c := newGLUCase[float32](4, 33, 2)
	whole, part := make([]float32, len(c.dy)), make([]float32, len(c.dy))
	var k GLU[float32]
	var add Add[float32]
	k.Forward(nil, whole, c.x, c.addends, c.rows, c.width)
	k.Forward(nil, part, c.x, c.addends[1:], c.rows, c.width)
	add.Run(nil, Of(part), floatRows([][]float32{c.addends[0], part}), false)
	require.Equal(t, whole, part)
}

// TestGatedGradientAliases: every output may be any input, and both outputs may be the same slice.
// The bits are the same as with a separate addition.
func TestGatedGradientAliases(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, n := range []int{1, 7, 16, 50} {
			in := func() [][]float32 { // dy, gate, value, addend
				s := make([][]float32, 4)
				for i := range s {
					s[i] = normals[float32](uint64(i), n, 1)
				}
				return s
			}
			s := in()
			dgate, dvalue := make([]float32, n), make([]float32, n)
			gatedGradientAlone(p, dvalue, dgate, s[0], s[1], s[2])
			addTo(portable, dvalue, s[3])
			for i := range s {
				for j := range s {
					got := in()
					gatedGradient(p, got[j], got[i], got[0], got[1], got[2], got[3])
					require.Equal(t, dvalue, got[j])
					if i != j {
						require.Equal(t, dgate, got[i])
					}
				}
			}
		}
	})
}

func TestGLUWarmAllocatesNothing(t *testing.T) {
	c := newGLUCase[float32](20, 40, 2)
	y, dx := make([]float32, len(c.dy)), make([]float32, len(c.x))
	p := NewPool(2)
	defer p.Close()
	var k GLU[float32]
	requireNoAllocations(t, func() {
		k.Forward(p, y, c.x, c.addends, c.rows, c.width)
		k.Backward(p, dx, c.dy, c.x, c.rows, c.width)
	})
}

package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// gatedData are a read's, a hidden layer's and a write's tensors.
type gatedData[T Float] struct {
	d                     GatedParams
	rank                  int
	z, a, x, y, u, h, out []T
	du, dh, dout          []T
	da, dz, dxh, dxw, dy  []T
}

func newGatedData[T Float](d GatedParams, rank int) *gatedData[T] {
	rows, size, wide := d.Tokens*d.D, d.Tokens*d.N*d.D, d.Tokens*d.Width
	of := func(seed uint64, n int, scale float64) []T { return normals[T](seed, n, scale) }
	return &gatedData[T]{d: d, rank: rank, z: of(1, size, 1), a: of(2, size, 2), x: of(3, wide, 3), y: of(4, rows, 1),
		u: make([]T, rows), h: make([]T, d.Tokens*rank), out: make([]T, size),
		du: of(5, rows, 1), dh: of(6, d.Tokens*rank, 1), dout: of(7, size, 1),
		da: make([]T, size), dz: make([]T, size), dxh: make([]T, wide), dxw: make([]T, wide), dy: make([]T, rows)}
}

func (s *gatedData[T]) widened() *gatedData[float64] {
	w := newGatedData[float64](s.d, s.rank)
	for i, x := range [][]T{s.z, s.a, s.x, s.y, s.du, s.dh, s.dout} {
		copy([][]float64{w.z, w.a, w.x, w.y, w.du, w.dh, w.dout}[i], widen(x))
	}
	return w
}

// gatedKernels are one of each.
type gatedKernels[T Float] struct {
	read   GatedRead[T]
	hidden GatedHidden[T]
	write  GatedWrite[T]
}

func newGatedKernels[T Float](p path) *gatedKernels[T] {
	return &gatedKernels[T]{GatedRead[T]{path: p}, GatedHidden[T]{path: p}, GatedWrite[T]{path: p}}
}

func (k *gatedKernels[T]) forward(p *Pool, s *gatedData[T]) {
	k.read.Forward(p, s.u, s.z, s.a, s.d)
	k.hidden.Forward(p, s.h, s.x, s.rank, s.d)
	k.write.Forward(p, s.out, s.z, s.y, s.x, s.d)
}

func (k *gatedKernels[T]) backward(p *Pool, s *gatedData[T]) {
	k.read.Backward(p, s.da, s.dz, s.du, s.z, s.a, false, s.d)
	k.hidden.Backward(p, s.dxh, s.dh, s.x, nil, s.rank, s.d)
	k.write.Backward(p, s.dy, s.dxw, s.dout, s.y, s.x, false, false, s.d)
}

// naive are the definitions: u, h and out.
func (s *gatedData[T]) naive() (u, h, out []float64) {
	d := s.d
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	u = make([]float64, d.Tokens*d.D)
	for t := range d.Tokens {
		for i := range d.N {
			for j := range d.D {
				at := (t*d.N+i)*d.D + j
				u[t*d.D+j] += sigmoid(float64(s.a[at])) * float64(s.z[at]) / float64(d.N)
				q := float64(s.x[(t+1)*d.Width-d.N+i]) / float64(d.N)
				out = append(out, float64(s.z[at])+2*sigmoid(q)*float64(s.y[t*d.D+j]))
			}
		}
		for j := range s.rank {
			v := float64(s.x[t*d.Width+j]) / float64(d.N)
			h = append(h, v*sigmoid(v))
		}
	}
	return u, h, out
}

func TestGated(t *testing.T) {
	for _, c := range []struct {
		d    GatedParams
		rank int
	}{{GatedParams{1, 1, 1, 2}, 1}, {GatedParams{5, 4, 7, 9}, 5}, {GatedParams{3, 2, 33, 20}, 18}, {GatedParams{37, 4, 48, 24}, 20}, {GatedParams{3, 11, 5, 14}, 3}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			s := newGatedData[float32](c.d, c.rank)
			w := s.widened()
			k := newGatedKernels[float64](portable)
			k.forward(NewPool(2), w)
			u, h, out := w.naive()
			requireNear(t, u, w.u, 1e-12, "u")
			requireNear(t, h, w.h, 1e-12, "h")
			requireNear(t, out, w.out, 1e-12, "out")
			k.backward(NewPool(2), w)
			checkGatedSlopes(t, k, w)
			forEachPath[float32](t, func(t *testing.T, p path) { checkGatedPath(t, newGatedKernels[float32](p), s, w) })
		})
	}
}

// checkGatedSlopes compares gradients with difference quotients.
func checkGatedSlopes(t *testing.T, k *gatedKernels[float64], w *gatedData[float64]) {
	if len(w.z) > 400 { // more take too long
		return
	}
	loss := func() float64 {
		k.forward(nil, w)
		return inner(w.u, w.du) + inner(w.h, w.dh)
	}
	requireNear(t, slope(w.a, loss), w.da, 1e-6, "da")
	requireNear(t, slope(w.z, loss), w.dz, 1e-6, "dz")
	requireNear(t, slope(w.x, loss), w.dxh, 1e-6, "dx of the hidden layer")
	written := func() float64 { k.forward(nil, w); return inner(w.out, w.dout) }
	requireNear(t, slope(w.y, written), w.dy, 1e-6, "dy")
	requireNear(t, slope(w.x, written), w.dxw, 1e-6, "dx of the write")
	k.forward(nil, w)
}

// checkGatedPath compares one path with float64, and its options with each other.
func checkGatedPath(t *testing.T, k *gatedKernels[float32], s *gatedData[float32], w *gatedData[float64]) {
	p := NewPool(3)
	k.forward(p, s)
	k.backward(p, s)
	for i, want := range [][]float64{w.u, w.h, w.out, w.da, w.dz, w.dxh, w.dxw, w.dy} {
		name := []string{"u", "h", "out", "da", "dz", "dx of the hidden layer", "dx of the write", "dy"}[i]
		requireNear(t, want, [][]float32{s.u, s.h, s.out, s.da, s.dz, s.dxh, s.dxw, s.dy}[i], 2e-6, name)
	}
	in := append([]float32(nil), s.a...)
	k.read.Backward(p, in, make([]float32, len(in)), s.du, s.z, in, false, s.d)
	require.Equal(t, s.da, in, "da in the place of a")
	k.read.Backward(p, in, nil, s.du, s.z, s.a, false, s.d)
	require.Equal(t, s.da, in, "without dz")
	in = append(in[:0], s.dz...)
	k.read.Backward(p, make([]float32, len(in)), in, s.du, s.z, s.a, true, s.d)
	requireNear(t, doubled(s.dz), in, 1e-6, "accumulated dz")
	in = append([]float32(nil), s.z...)
	k.write.Forward(p, in, in, s.y, s.x, s.d)
	require.Equal(t, s.out, in, "out in the place of r")
	sum := append([]float32(nil), s.dxw...)
	k.hidden.Backward(p, sum, s.dh, s.x, sum, s.rank, s.d)
	both := append([]float32(nil), s.dxh...)
	k.write.Backward(p, append([]float32(nil), s.dy...), both, s.dout, s.y, s.x, true, true, s.d)
	for i := range both {
		require.InDelta(t, both[i], sum[i], 1e-6, "sum of both dx")
	}
	twice := append([]float32(nil), s.dy...)
	k.write.Backward(p, twice, nil, s.dout, s.y, s.x, true, false, s.d)
	requireNear(t, doubled(s.dy), twice, 1e-6, "accumulated dy")
}

func TestGatedWarmAllocatesNothing(t *testing.T) {
	s, k, p := newGatedData[float32](GatedParams{9, 4, 24, 10}, 6), newGatedKernels[float32](fastest), NewPool(2)
	requireNoAllocations(t, func() {
		k.forward(p, s)
		k.backward(p, s)
	})
}

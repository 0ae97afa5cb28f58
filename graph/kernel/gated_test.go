package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// gatedData holds the tensors of a read and a write.
type gatedData[T Float] struct {
	d                    GatedParams
	z, w, x, y, u, out   []T
	du, dout             []T
	dw, dz, dxr, dxw, dy []T
}

func newGatedData[T Float](d GatedParams) *gatedData[T] {
	rows, size, wide, weights := d.Tokens*d.D, d.Tokens*d.N*d.D, d.Tokens*d.Width, d.Rank*d.N*d.D
	of := func(seed uint64, n int, scale float64) []T { return normals[T](seed, n, scale) }
	return &gatedData[T]{d: d, z: of(1, size, 1), w: of(2, weights, 1), x: of(3, wide, 3), y: of(4, rows, 1),
		u: make([]T, rows), out: make([]T, size), du: of(5, rows, 1), dout: of(7, size, 1),
		dw: make([]T, weights), dz: make([]T, size), dxr: make([]T, wide), dxw: make([]T, wide), dy: make([]T, rows)}
}

func (s *gatedData[T]) widened() *gatedData[float64] {
	w := newGatedData[float64](s.d)
	for i, x := range [][]T{s.z, s.w, s.x, s.y, s.du, s.dout} {
		copy([][]float64{w.z, w.w, w.x, w.y, w.du, w.dout}[i], widen(x))
	}
	return w
}

// gatedKernels holds one kernel of each kind.
type gatedKernels[T Float] struct {
	read  GatedRead[T]
	write GatedWrite[T]
}

func newGatedKernels[T Float](p path) *gatedKernels[T] {
	return &gatedKernels[T]{GatedRead[T]{path: p}, GatedWrite[T]{path: p}}
}

func (k *gatedKernels[T]) forward(p *Pool, s *gatedData[T]) {
	k.read.Forward(p, s.u, s.z, s.x, s.w, s.d)
	k.write.Forward(p, s.out, s.z, s.y, s.x, s.d)
}

func (k *gatedKernels[T]) backward(p *Pool, s *gatedData[T]) {
	k.readBackward(p, GatedReadGrads[T]{X: s.dxr, Z: s.dz, W: s.dw}, s)
	k.write.Backward(p, s.dy, s.dxw, s.dout, s.y, s.x, false, false, s.d)
}

func (k *gatedKernels[T]) readBackward(p *Pool, g GatedReadGrads[T], s *gatedData[T]) {
	k.read.Backward(p, g, s.du, s.z, s.x, s.w, s.d)
}

// naive computes u and out by the definitions.
func (s *gatedData[T]) naive() (u, out []float64) {
	d := s.d
	u = make([]float64, d.Tokens*d.D)
	for t := range d.Tokens {
		x := s.x[t*d.Width : (t+1)*d.Width]
		for e := range d.N * d.D {
			a := 0.0
			for j := range d.Rank {
				v := float64(x[j]) / float64(d.N)
				a += v * naiveSigmoid(v) * float64(s.w[j*d.N*d.D+e])
			}
			z := float64(s.z[t*d.N*d.D+e])
			u[t*d.D+e%d.D] += naiveSigmoid(a) * z / float64(d.N)
			q := float64(x[d.Width-d.N+e/d.D]) / float64(d.N)
			out = append(out, z+2*naiveSigmoid(q)*float64(s.y[t*d.D+e%d.D]))
		}
	}
	return u, out
}

func TestGated(t *testing.T) {
	for _, d := range []GatedParams{{1, 1, 1, 2, 1}, {5, 4, 7, 9, 5}, {3, 2, 33, 20, 18}, {37, 4, 48, 24, 20}, {3, 11, 5, 14, 3}, {135, 2, 9, 6, 4}, {19, 4, 700, 9, 3}} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			s := newGatedData[float32](d)
			w := s.widened()
			k := newGatedKernels[float64](portable)
			k.forward(NewPool(2), w)
			u, out := w.naive()
			requireNear(t, u, w.u, 1e-12, "u")
			requireNear(t, out, w.out, 1e-12, "out")
			k.backward(NewPool(2), w)
			checkGatedSlopes(t, k, w)
			forEachPath[float32](t, func(t *testing.T, p path) { checkGatedPath(t, newGatedKernels[float32](p), s, w) })
		})
	}
}

// checkGatedSlopes compares gradients with difference quotients.
func checkGatedSlopes(t *testing.T, k *gatedKernels[float64], w *gatedData[float64]) {
	if len(w.z) > 400 { // larger cases take too long
		return
	}
	loss := func() float64 { k.forward(nil, w); return inner(w.u, w.du) }
	requireNear(t, slope(w.w, loss), w.dw, 1e-6, "dw")
	requireNear(t, slope(w.z, loss), w.dz, 1e-6, "dz")
	requireNear(t, slope(w.x, loss), w.dxr, 1e-6, "dx of the read")
	written := func() float64 { k.forward(nil, w); return inner(w.out, w.dout) }
	requireNear(t, slope(w.y, written), w.dy, 1e-6, "dy")
	requireNear(t, slope(w.x, written), w.dxw, 1e-6, "dx of the write")
	k.forward(nil, w)
}

// checkGatedPath compares one path with float64, and the results for different options with each
// other.
func checkGatedPath(t *testing.T, k *gatedKernels[float32], s *gatedData[float32], w *gatedData[float64]) {
	p := NewPool(3)
	k.forward(p, s)
	k.backward(p, s)
	for i, want := range [][]float64{w.u, w.out, w.dw, w.dz, w.dxr, w.dxw, w.dy} {
		name := []string{"u", "out", "dw", "dz", "dx of the read", "dx of the write", "dy"}[i]
		requireNear(t, want, [][]float32{s.u, s.out, s.dw, s.dz, s.dxr, s.dxw, s.dy}[i], 5e-6, name)
	}
	alone := make([]float32, len(s.dxr))
	k.readBackward(p, GatedReadGrads[float32]{X: alone}, s)
	require.Equal(t, s.dxr, alone, "dx alone")
	z, weights := append([]float32(nil), s.dz...), append([]float32(nil), s.dw...)
	k.readBackward(p, GatedReadGrads[float32]{X: alone, Z: z, W: weights, AddToZ: true, AddToW: true}, s)
	requireNear(t, doubled(s.dz), z, 1e-6, "accumulated dz")
	requireNear(t, doubled(s.dw), weights, 1e-6, "accumulated dw")
	in := append([]float32(nil), s.z...)
	k.write.Forward(p, in, in, s.y, s.x, s.d)
	require.Equal(t, s.out, in, "out in the place of r")
	sum, both := append([]float32(nil), s.dxw...), append([]float32(nil), s.dxr...)
	k.readBackward(p, GatedReadGrads[float32]{X: sum, Addend: sum}, s)
	k.write.Backward(p, append([]float32(nil), s.dy...), both, s.dout, s.y, s.x, true, true, s.d)
	for i := range both {
		require.InDelta(t, both[i], sum[i], 1e-6, "sum of both dx")
	}
	twice := append([]float32(nil), s.dy...)
	k.write.Backward(p, twice, nil, s.dout, s.y, s.x, true, false, s.d)
	requireNear(t, doubled(s.dy), twice, 1e-6, "accumulated dy")
}

func TestGatedWarmAllocatesNothing(t *testing.T) {
	s, k, p := newGatedData[float32](GatedParams{9, 4, 24, 10, 6}), newGatedKernels[float32](fastest), NewPool(2)
	requireNoAllocations(t, func() {
		k.forward(p, s)
		k.backward(p, s)
	})
}

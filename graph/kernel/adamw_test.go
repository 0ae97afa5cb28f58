package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveAdamW follows algorithm 2 of Loshchilov & Hutter line by line, in float64, with decay as the
// final factor.
func naiveAdamW(w, g, m, v []float64, d AdamWParams) {
	for i := range w {
		s := d.GradScale * g[i]
		m[i] = d.Beta1*m[i] + (1-d.Beta1)*s
		v[i] = d.Beta2*v[i] + (1-d.Beta2)*s*s
		mHat := m[i] / (1 - math.Pow(d.Beta1, float64(d.Step)))
		vHat := v[i] / (1 - math.Pow(d.Beta2, float64(d.Step)))
		w[i] -= d.LR*mHat/(math.Sqrt(vHat)+d.Eps) + d.Decay*w[i]
	}
}

func TestAdamW(t *testing.T) {
	testAdamW[float32](t, 1e-6)
	testAdamW[float64](t, 1e-13)
}

// testAdamW takes 20 steps and compares them with naiveAdamW, with gradients of very different
// sizes.
func testAdamW[T Float](t *testing.T, tolerance float64) {
	for _, n := range []int{1, 7, 1009} {
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			w, m, v := normals[T](1, n, 1), make([]T, n), make([]T, n)
			wantW, wantM, wantV := widen(w), widen(m), widen(v)
			d := AdamWParams{LR: 3e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 3e-4, GradScale: 0.25}
			var k AdamW[T]
			for d.Step = 1; d.Step <= 20; d.Step++ {
				g := normals[T](uint64(d.Step), n, 1)
				for i := range g {
					g[i] *= T(math.Pow(10, float64(-i%9)))
				}
				kept := slices.Clone(g)
				k.Add(w[:n/2], g[:n/2], m[:n/2], v[:n/2], d)
				k.Add(w[n/2:], g[n/2:], m[n/2:], v[n/2:], d)
				k.Run(p)
				require.Equal(t, kept, g, "g is not changed")
				naiveAdamW(wantW, widen(g), wantM, wantV, d)
			}
			requireNear(t, wantW, w, tolerance, "w")
			requireNear(t, wantM, m, tolerance, "m")
			for i := range v { // v is a sum of squares: nothing cancels
				require.InEpsilon(t, wantV[i], v[i], tolerance, "v[%d]", i)
			}
			p.Close()
		}
	}
}

// A thousand steps with betas close to 1 and a steady gradient: a rounded beta would
// bias the second moment by 1e-5.
func TestAdamWMomentsAreNotBiased(t *testing.T) {
	const n = 64
	w, m, v := make([]float32, n), make([]float32, n), make([]float32, n)
	wantW, wantM, wantV := widen(w), widen(m), widen(v)
	g := normals[float32](1, n, 1)
	d := AdamWParams{Beta1: 0.99, Beta2: 0.999, Eps: 1e-8, GradScale: 1}
	var k AdamW[float32]
	for d.Step = 1; d.Step <= 1000; d.Step++ {
		k.Add(w, g, m, v, d)
		k.Run(nil)
		naiveAdamW(wantW, widen(g), wantM, wantV, d)
	}
	var biasM, biasV float64
	for i := range v {
		biasM += (float64(m[i])/wantM[i] - 1) / n
		biasV += (float64(v[i])/wantV[i] - 1) / n
	}
	require.Less(t, math.Abs(biasM), 1e-6)
	require.Less(t, math.Abs(biasV), 1e-6)
}

// The first step moves every weight by LR against the sign of its gradient, however large the
// gradient: this is the purpose of the bias correction.
func TestAdamWFirstStep(t *testing.T) {
	w, m, v := []float64{1, 1, 1, 1}, make([]float64, 4), make([]float64, 4)
	g := []float64{1e-3, -1e-3, 100, 0}
	var k AdamW[float64]
	k.Add(w, g, m, v, AdamWParams{LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-12, Step: 1, GradScale: 1})
	k.Run(nil)
	requireNear(t, []float64{0.9, 1.1, 0.9, 1}, w, 1e-9, "w")
}

func TestAdamWDecayAlone(t *testing.T) {
	w := []float64{2, -4}
	var k AdamW[float64]
	k.Add(w, make([]float64, 2), make([]float64, 2), make([]float64, 2),
		AdamWParams{LR: 0.1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.25, Step: 3, GradScale: 1})
	k.Run(nil)
	require.Equal(t, []float64{1.5, -3}, w)
}

func TestAdamWWarmAllocatesNothing(t *testing.T) {
	w := normals[float32](1, 100, 1)
	m, v := make([]float32, 100), make([]float32, 100)
	p := NewPool(2)
	var k AdamW[float32]
	requireNoAllocations(t, func() {
		k.Add(w, w, m, v, AdamWParams{LR: 0.1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: 1, GradScale: 1})
		k.Run(p)
	})
}

func BenchmarkAdamW(b *testing.B) {
	const n = 1 << 16
	w, g := normals[float32](1, n, 1), normals[float32](2, n, 1)
	m, v := make([]float32, n), make([]float32, n)
	d := AdamWParams{LR: 1e-4, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 1e-5, Step: 1, GradScale: 1}
	var k AdamW[float32]
	for b.Loop() {
		k.Add(w, g, m, v, d)
		k.Run(nil)
	}
	reportPerElement(b, n)
}

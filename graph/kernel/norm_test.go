package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveNorm computes the textbook form in float64.
func naiveNorm(x, gain, bias []float64, d NormParams) (y, mean, rstd []float64) {
	y, mean, rstd = make([]float64, len(x)), make([]float64, d.Rows), make([]float64, d.Rows)
	for i := range d.Rows {
		row := x[i*d.Width : (i+1)*d.Width]
		if !d.RMS {
			for _, v := range row {
				mean[i] += v / float64(d.Width)
			}
		}
		var variance float64
		for _, v := range row {
			variance += (v - mean[i]) * (v - mean[i]) / float64(d.Width)
		}
		rstd[i] = 1 / math.Sqrt(variance+d.Eps)
		for j, v := range row {
			y[i*d.Width+j] = (v - mean[i]) * rstd[i] * gain[j]
			if bias != nil {
				y[i*d.Width+j] += bias[j]
			}
		}
	}
	return y, mean, rstd
}

// normCases calls test with odd and ordinary sizes of both kinds of norm.
func normCases(t *testing.T, test func(t *testing.T, d NormParams)) {
	for _, size := range [][2]int{{1, 1}, {1, 7}, {5, 1}, {13, 31}, {3, 768}, {67, 4}, {131, 6}} {
		for _, rms := range []bool{false, true} {
			d := NormParams{Rows: size[0], Width: size[1], RMS: rms, Eps: 1e-5}
			t.Run(fmt.Sprintf("%dx%d rms=%v", d.Rows, d.Width, d.RMS), func(t *testing.T) { test(t, d) })
		}
	}
}

func TestNormForward(t *testing.T) {
	normCases(t, func(t *testing.T, d NormParams) {
		testNormForward[float32](t, d, 2e-6)
		testNormForward[float64](t, d, 1e-13)
	})
}

func testNormForward[T Float](t *testing.T, d NormParams, tolerance float64) {
	n := d.Rows * d.Width
	x, gain, bias := normals[T](1, n, 3), normals[T](2, d.Width, 1), normals[T](3, d.Width, 1)
	for _, b := range [][]T{nil, bias} {
		var wantBias []float64
		if b != nil {
			wantBias = widen(b)
		}
		wantY, wantMean, wantRstd := naiveNorm(widen(x), widen(gain), wantBias, d)
		y, mean, rstd := make([]T, n), make([]T, d.Rows), make([]T, d.Rows)
		var k Norm[T]
		k.Forward(NewPool(2), Of(y), Of(x), gain, b, mean, rstd, d)
		requireNear(t, wantY, y, tolerance, "y")
		requireNear(t, wantMean, mean, tolerance, "mean")
		requireNear(t, wantRstd, rstd, tolerance, "rstd")
		if d.RMS {
			again := make([]T, n)
			k.Forward(nil, Of(again), Of(x), gain, b, nil, rstd, d)
			require.Equal(t, y, again, "RMSNorm needs no mean")
		}
		inPlace := slices.Clone(x)
		k.Forward(nil, Of(inPlace), Of(inPlace), gain, b, mean, rstd, d)
		require.Equal(t, y, inPlace, "in place")
	}
}

// With a mean ten thousand times the deviation, the error, compared with a float64 reference for
// the same float32 inputs, is no larger than for any float32 result.
func TestNormLargeMean(t *testing.T) {
	d := NormParams{Rows: 4, Width: 509, Eps: 1e-5}
	x := normals[float32](4, d.Rows*d.Width, 1)
	for i := range x {
		x[i] += 12345.678
	}
	gain, dy := normals[float32](5, d.Width, 1), normals[float32](6, len(x), 1)
	y, mean, rstd := make([]float32, len(x)), make([]float32, d.Rows), make([]float32, d.Rows)
	var k Norm[float32]
	k.Forward(nil, Of(y), Of(x), gain, nil, mean, rstd, d)
	wantY, _, wantRstd := naiveNorm(widen(x), widen(gain), nil, d)
	requireNear(t, wantY, y, 1e-6, "y")
	requireNear(t, wantRstd, rstd, 1e-6, "rstd")

	var k64 Norm[float64]
	y64, mean64, rstd64 := make([]float64, len(x)), make([]float64, d.Rows), make([]float64, d.Rows)
	k64.Forward(nil, Of(y64), Of(widen(x)), widen(gain), nil, mean64, rstd64, d)
	wantDx, wantGain := make([]float64, len(x)), make([]float64, d.Width)
	k64.Backward(nil, Of(wantDx), Rows[float64]{}, wantGain, nil, Of(widen(dy)), Of(widen(x)), widen(gain), mean64, rstd64, false, d)
	dx, dgain := make([]float32, len(x)), make([]float32, d.Width)
	k.Backward(nil, Of(dx), Rows[float32]{}, dgain, nil, Of(dy), Of(x), gain, mean, rstd, false, d)
	requireNear(t, wantDx, dx, 2e-6, "dx")
	requireNear(t, wantGain, dgain, 2e-6, "dgain")
}

func TestNormBackwardFiniteDifferences(t *testing.T) {
	normCases(t, func(t *testing.T, d NormParams) {
		if d.Rows*d.Width > 1000 {
			return // central differences of so large a case take too long
		}
		n := d.Rows * d.Width
		x, gain, bias := normals[float64](7, n, 1), normals[float64](8, d.Width, 1), normals[float64](9, d.Width, 1)
		dy := normals[float64](10, n, 1)
		if d.Width == 1 {
			d.Eps = 0.3 // for a row of one element LayerNorm depends only on eps
		}
		y, mean, rstd := make([]float64, n), make([]float64, d.Rows), make([]float64, d.Rows)
		var k Norm[float64]
		loss := func() float64 {
			k.Forward(nil, Of(y), Of(x), gain, bias, mean, rstd, d)
			return inner(y, dy)
		}
		wantX, wantGain, wantBias := slope(x, loss), slope(gain, loss), slope(bias, loss)
		loss()
		dx, dgain, dbias := make([]float64, n), make([]float64, d.Width), make([]float64, d.Width)
		k.Backward(NewPool(3), Of(dx), Rows[float64]{}, dgain, dbias, Of(dy), Of(x), gain, mean, rstd, false, d)
		requireNear(t, wantX, dx, 1e-7, "dx")
		requireNear(t, wantGain, dgain, 1e-7, "dgain")
		requireNear(t, wantBias, dbias, 1e-7, "dbias")
	})
}

// Compares the float32 gradients with the float64 ones, which finite differences have checked; with
// only one gradient wanted, and accumulated.
func TestNormBackwardSingle(t *testing.T) {
	normCases(t, func(t *testing.T, d NormParams) {
		n := d.Rows * d.Width
		x, gain, dy := normals[float32](11, n, 2), normals[float32](12, d.Width, 1), normals[float32](13, n, 1)
		if d.Width == 1 {
			d.Eps = 0.3 // dx is a difference of equal terms divided by eps: this keeps it from being only rounding
		}
		_, mean64, rstd64 := naiveNorm(widen(x), widen(gain), nil, d)
		wantX, wantGain, wantBias := make([]float64, n), make([]float64, d.Width), make([]float64, d.Width)
		var k64 Norm[float64]
		k64.Backward(nil, Of(wantX), Rows[float64]{}, wantGain, wantBias, Of(widen(dy)), Of(widen(x)), widen(gain), mean64, rstd64, false, d)

		y, mean, rstd := make([]float32, n), make([]float32, d.Rows), make([]float32, d.Rows)
		var k Norm[float32]
		p := NewPool(2)
		k.Forward(p, Of(y), Of(x), gain, nil, mean, rstd, d)
		dx, dgain, dbias := make([]float32, n), make([]float32, d.Width), make([]float32, d.Width)
		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dbias, Of(dy), Of(x), gain, mean, rstd, false, d)
		requireNear(t, wantX, dx, 4e-6, "dx")
		requireNear(t, wantGain, dgain, 4e-6, "dgain")
		requireNear(t, wantBias, dbias, 4e-6, "dbias")

		alone, aloneGain, aloneBias := make([]float32, n), make([]float32, d.Width), make([]float32, d.Width)
		k.Backward(p, Of(alone), Rows[float32]{}, nil, nil, Of(dy), Of(x), gain, mean, rstd, true, d)
		k.Backward(p, Rows[float32]{}, Rows[float32]{}, aloneGain, nil, Of(dy), Of(x), gain, mean, rstd, false, d)
		k.Backward(p, Rows[float32]{}, Rows[float32]{}, nil, aloneBias, Of(dy), Of(x), gain, mean, rstd, false, d)
		require.Equal(t, dx, alone)
		require.Equal(t, dgain, aloneGain)
		require.Equal(t, dbias, aloneBias)

		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dbias, Of(dy), Of(x), gain, mean, rstd, true, d)
		require.Equal(t, alone, dx, "dx is overwritten")
		for j := range dgain {
			require.InDelta(t, 2*aloneGain[j], dgain[j], 1e-6*math.Abs(float64(dgain[j])))
			require.InDelta(t, 2*aloneBias[j], dbias[j], 1e-6*math.Abs(float64(dbias[j])))
		}
		k.Backward(p, Of(dy), Rows[float32]{}, nil, nil, Of(dy), Of(x), gain, mean, rstd, false, d)
		require.Equal(t, dx, dy, "dx in place of dy")
	})
}

func TestNormSameBitsForAnyThreads(t *testing.T) {
	for _, groups := range []int{1, 3} {
		d := NormParams{Rows: 603, Width: 33, Eps: 1e-6, Groups: groups}
		n := d.Rows * d.Width
		x, gain, dy := normals[float32](14, n, 2), normals[float32](15, groups*d.Width, 1), normals[float32](16, n, 1)
		requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
			y, mean, rstd := make([]float32, n), make([]float32, d.Rows), make([]float32, d.Rows)
			dx, dgain, dbias := make([]float32, n), make([]float32, len(gain)), make([]float32, len(gain))
			var k Norm[float32]
			k.Forward(p, Of(y), Of(x), gain, nil, mean, rstd, d)
			k.Backward(p, Of(dx), Rows[float32]{}, dgain, dbias, Of(dy), Of(x), gain, mean, rstd, false, d)
			return [][]float32{y, mean, rstd, dx, dgain, dbias}
		})
	}
}

func TestNormWarmAllocatesNothing(t *testing.T) {
	d := NormParams{Rows: 9, Width: 20, Eps: 1e-6}
	n := d.Rows * d.Width
	x, gain := normals[float32](17, n, 2), normals[float32](18, d.Width, 1)
	y, mean, rstd, dgain := make([]float32, n), make([]float32, d.Rows), make([]float32, d.Rows), make([]float32, d.Width)
	p := NewPool(2)
	var k Norm[float32]
	requireNoAllocations(t, func() {
		k.Forward(p, Of(y), Of(x), gain, gain, mean, rstd, d)
		k.Backward(p, Of(y), Rows[float32]{}, dgain, dgain, Of(x), Of(x), gain, mean, rstd, true, d)
	})
}

func BenchmarkNorm(b *testing.B) {
	d := NormParams{Rows: 64, Width: 768, Eps: 1e-6}
	n := d.Rows * d.Width
	x, gain, dy := normals[float32](19, n, 2), normals[float32](20, d.Width, 1), normals[float32](21, n, 1)
	y, mean, rstd, dgain := make([]float32, n), make([]float32, d.Rows), make([]float32, d.Rows), make([]float32, d.Width)
	var k Norm[float32]
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			k.Forward(nil, Of(y), Of(x), gain, nil, mean, rstd, d)
		}
		reportPerElement(b, n)
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			k.Backward(nil, Of(y), Rows[float32]{}, dgain, nil, Of(dy), Of(x), gain, mean, rstd, true, d)
		}
		reportPerElement(b, n)
	})
}

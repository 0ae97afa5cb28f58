package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// normals returns n reproducible normal variates of the given scale.
func normals[T Float](seed uint64, n int, scale float64) []T {
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	x := make([]T, n)
	for i := range x {
		x[i] = T(scale * rng.NormFloat64())
	}
	return x
}

// widen returns x in float64.
func widen[T Float](x []T) []float64 {
	w := make([]float64, len(x))
	for i, v := range x {
		w[i] = float64(v)
	}
	return w
}

// requireNear checks that |got - want| <= tolerance * max(1, |want|) for every element.
func requireNear[T Float](t *testing.T, want []float64, got []T, tolerance float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		limit := tolerance * max(1, math.Abs(w))
		if !(math.Abs(float64(got[i])-w) <= limit) {
			require.Failf(t, what, "element %d: want %v, got %v (tolerance %v)", i, w, got[i], limit)
		}
	}
}

// slope returns the derivative of f with respect to x, by central differences; it leaves x
// unchanged.
func slope(x []float64, f func() float64) []float64 {
	const h = 1e-5
	d := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + h
		up := f()
		x[i] = v - h
		d[i] = (up - f()) / (2 * h)
		x[i] = v
	}
	return d
}

// inner returns the inner product of a and b: a loss whose gradient with respect to a is b.
func inner(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// requireNoAllocations checks that run allocates nothing after a first run.
func requireNoAllocations(t *testing.T, run func()) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(10, run))
}

// ulps returns the distance of got from want in units of want's last place as a float32.
func ulps(got float32, want float64) float64 {
	if got == float32(want) {
		return 0
	}
	exponent := max(math.Ilogb(want), -126)
	return math.Abs(float64(got)-want) / math.Ldexp(1, exponent-23)
}

// sweep calls f with float32 values of every exponent and both signs: 2^bits values
// evenly spaced in the bit pattern, infinities and NaN left out.
func sweep(bits int, f func(x float32)) {
	for i := range uint32(1) << bits {
		x := math.Float32frombits(i<<(32-bits) + i*2654435761>>bits)
		if !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
			f(x)
		}
	}
}

func TestExpTable(t *testing.T) {
	for k, v := range expTable {
		require.InEpsilon(t, math.Exp2(float64(k)/expParts), v, 3e-16)
	}
}

func TestExpSplitPrecision(t *testing.T) {
	var worst, worstSmall float64
	for _, x := range normals[float64](1, 100_000, 100) {
		scale, part := expSplit(x)
		worst = max(worst, math.Abs((scale+part)/math.Exp(x)-1))
		small := x / 1e4
		scale, part = expSplit(small)
		worstSmall = max(worstSmall, math.Abs((part+(scale-1))/math.Expm1(small)-1))
	}
	require.Less(t, worst, 2e-10)
	require.Less(t, worstSmall, 2e-8)
}

func TestExpSingleWithinOneUlp(t *testing.T) {
	bits := 18
	if longtest.Enabled() {
		bits = 22
	}
	var worst float64
	sweep(bits, func(x float32) {
		want := math.Exp(float64(x))
		if want > math.MaxFloat32*(1+0x1p-25) {
			require.True(t, math.IsInf(float64(expT(x)), 1), "exp(%v) = %v", x, expT(x))
			return
		}
		worst = max(worst, ulps(expT(x), want))
	})
	for _, x := range normals[float32](2, 100_000, 40) {
		if x < 88.7 {
			worst = max(worst, ulps(expT(x), math.Exp(float64(x))))
		}
	}
	require.Less(t, worst, 0.51)
}

func TestTanhSingleWithinOneUlp(t *testing.T) {
	bits := 18
	if longtest.Enabled() {
		bits = 22
	}
	var worst float64
	check := func(x float32) { worst = max(worst, ulps(tanhT(x), math.Tanh(float64(x)))) }
	sweep(bits, check)
	for _, x := range normals[float32](3, 100_000, 2) {
		check(x)
	}
	for _, x := range normals[float32](4, 100_000, 0.01) {
		check(x)
	}
	require.Less(t, worst, 1.0)
}

func TestVecmathSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	require.Equal(t, inf, expT(inf))
	require.Equal(t, float32(0), expT(-inf))
	require.True(t, math.IsNaN(float64(expT(nan))))
	require.Equal(t, float32(1), expT(float32(0)))
	require.Equal(t, float32(1), expT(float32(math.SmallestNonzeroFloat32)))
	require.Equal(t, float32(0), expT(float32(-1e30)))
	require.Equal(t, float32(math.Exp(-100)), expT(float32(-100)), "a subnormal result")

	require.Equal(t, float32(1), tanhT(inf))
	require.Equal(t, float32(-1), tanhT(-inf))
	require.True(t, math.IsNaN(float64(tanhT(nan))))
	require.True(t, math.Signbit(float64(tanhT(float32(math.Copysign(0, -1))))))
	require.Equal(t, float32(math.SmallestNonzeroFloat32), tanhT(float32(math.SmallestNonzeroFloat32)))
}

func TestVecmathDoubleIsMath(t *testing.T) {
	for _, x := range normals[float64](5, 100, 5) {
		require.Equal(t, math.Exp(x), expT(x))
		require.Equal(t, math.Tanh(x), tanhT(x))
	}
}

func BenchmarkExp(b *testing.B)  { benchmarkElements(b, expT[float32]) }
func BenchmarkTanh(b *testing.B) { benchmarkElements(b, tanhT[float32]) }

func benchmarkElements(b *testing.B, f func(float32) float32) {
	x := normals[float32](6, 4096, 3)
	y := make([]float32, len(x))
	for b.Loop() {
		for i, v := range x {
			y[i] = f(v)
		}
	}
	reportPerElement(b, len(x))
}

// reportPerElement reports the time for each element of a loop over n elements.
func reportPerElement(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
}

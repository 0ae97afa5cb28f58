package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Compares every float32 from -110 to 95 in coarse steps, and random ones between, with math.Exp of
// the same float32.
func TestSoftmaxExpIsWithinOneUlp(t *testing.T) {
	forEachPath[float32](t, testSoftmaxExpIsWithinOneUlp)
}

func testSoftmaxExpIsWithinOneUlp(t *testing.T, p path) {
	rng := rand.New(rand.NewPCG(1, 2))
	var worst float64
	for x := -110.0; x < 95; x += 1.0 / 2048 {
		in := float32(x + rng.Float64()/2048)
		row := []float32{in}
		softmaxExp(p, row, 0)
		want := math.Exp(float64(in))
		if want >= math.MaxFloat32 {
			require.True(t, math.IsInf(float64(row[0]), 1), "exp(%v) = %v", in, row[0])
			continue
		}
		next := math.Nextafter32(float32(want), float32(math.Inf(1)))
		ulp := float64(next) - float64(float32(want))
		worst = max(worst, math.Abs(float64(row[0])-want)/ulp)
	}
	require.Less(t, worst, 0.52)
}

func TestSoftmaxExpSpecialValues(t *testing.T) {
	forEachPath[float32](t, testSoftmaxExpSpecialValues)
}

func testSoftmaxExpSpecialValues(t *testing.T, p path) {
	inf := float32(math.Inf(1))
	row := []float32{float32(math.NaN()), -inf, inf, 0, float32(math.Copysign(0, -1)), -3e38, 3e38}
	sum := softmaxExp(p, row, 0)
	require.True(t, math.IsNaN(sum))
	require.True(t, math.IsNaN(float64(row[0])))
	require.Equal(t, []float32{0, inf, 1, 1, 0, inf}, row[1:])
}

func TestSoftmaxExpSumsAndShifts(t *testing.T) {
	forEachPath[float32](t, testSoftmaxExpSumsAndShifts)
}

func testSoftmaxExpSumsAndShifts(t *testing.T, p path) {
	single, double := []float32{1, 2, 3}, []float64{1, 2, 3}
	want := math.Exp(-2) + math.Exp(-1) + 1
	require.InDelta(t, want, softmaxExp(p, single, 3), 1e-7)
	require.InDelta(t, want, softmaxExp(portable, double, 3), 1e-15)
	require.Equal(t, math.Exp(-2), double[0])
	require.Zero(t, testing.AllocsPerRun(10, func() { softmaxExp(p, single, 0.5) }))
}

func TestSoftmaxMax(t *testing.T) {
	forEachPath[float32](t, testSoftmaxMax)
}

func testSoftmaxMax(t *testing.T, p path) {
	inf := math.Inf(1)
	for _, x := range []struct {
		row  []float64
		want float64
	}{
		{nil, -inf}, {[]float64{-inf}, -inf}, {[]float64{-inf, -3e38, -inf}, -3e38}, {[]float64{3, inf, -inf}, inf},
		{[]float64{-5, -4, -6}, -4}, {[]float64{-1e-45, -1}, -1e-45}, {[]float64{1e-45, 0, -1}, 1e-45},
		{[]float64{2, -7, 8, 3}, 8}, {[]float64{math.Copysign(0, -1), -2}, 0},
	} {
		require.Equal(t, x.want, softmaxMax(portable, x.row), "%v", x.row)
		require.Equal(t, float32(x.want), softmaxMax(p, castTo[float32](x.row)), "%v", x.row)
	}
	for _, nan := range []float64{math.NaN(), math.Copysign(math.NaN(), -1)} {
		row := castTo[float32]([]float64{nan, 1, 2})
		require.True(t, math.IsNaN(softmaxExp(p, row, softmaxMax(p, row))))
	}
}

func BenchmarkSoftmaxExp(b *testing.B) {
	logits, x := make([]float32, 4096), make([]float32, 4096)
	for i := range logits {
		logits[i] = -float32(i) / 300
	}
	for b.Loop() {
		copy(x, logits)
		softmaxExp(pathOf[float32](fastest), x, 0.25)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
}

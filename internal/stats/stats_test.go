package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDifferences(t *testing.T) {
	a, b := Estimate{3, 0.03}, Estimate{2.9, 0.04}
	d := a.Minus(b)
	assert.InDelta(t, 0.1, d.Mean, 1e-12)
	assert.InDelta(t, 0.05, d.Error, 1e-12)
	assert.False(t, Estimate{0.0999, 0.05}.Certain())
	assert.True(t, Estimate{-0.1001, 0.05}.Certain())
	assert.False(t, Estimate{0.1, math.NaN()}.Certain(), "one seed tells nothing of the error")
	assert.True(t, math.IsNaN(Mean([]float64{1}).Error))
}

// TestDeviationInterval: chi squared with 4 degrees of freedom has its 2.5% and 97.5% at 0.4844 and
// 11.1433.
func TestDeviationInterval(t *testing.T) {
	low, high := DeviationInterval(2, 5)
	assert.InDelta(t, 2*math.Sqrt(4/11.1433), low, 1e-4)
	assert.InDelta(t, 2*math.Sqrt(4/0.4844), high, 1e-3)
}

// TestPairedTest: t = 3.71987 of five values, and Student's distribution with 4 degrees of freedom
// in closed form, F(t) = 1/2 + 3/8 t/sqrt(1 + t^2/4) (1 - t^2/(12 (1 + t^2/4))), make p = 0.020476.
func TestPairedTest(t *testing.T) {
	assert.InDelta(t, 0.020476, PairedTest([]float64{1, 2, 3, 4, 6}), 1e-6)
	assert.InDelta(t, 0.020476, PairedTest([]float64{-1, -2, -3, -4, -6}), 1e-6)
	assert.True(t, math.IsNaN(PairedTest([]float64{1})))
	assert.Equal(t, 1.0, PairedTest([]float64{0, 0, 0}))
}

// TestSeedsHaveThePowerThatIsAskedFor: of many simulated comparisons with that many seeds about 80%
// find the difference, and with clearly fewer seeds clearly fewer do.
func TestSeedsHaveThePowerThatIsAskedFor(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	found := func(n int, deviation, difference float64) float64 {
		hits := 0
		for range 1000 {
			d := make([]float64, n)
			for i := range d {
				d[i] = difference + deviation*draw.NormFloat64()
			}
			if PairedTest(d) < Alpha {
				hits++
			}
		}
		return float64(hits) / 1000
	}
	for _, ratio := range []float64{0.7, 1, 2, 3} { // deviation over difference
		n := PairedSeeds(ratio, 1)
		assert.InDelta(t, Power, found(n, ratio, 1), 0.09, "%d seeds", n)
		assert.Less(t, found(max(2, n/2), ratio, 1), 0.7, "%d seeds", n/2)
	}
	assert.Equal(t, 34, PairedSeeds(2, 1), "G*Power's 34 for an effect of 0.5")
	assert.Equal(t, 64, UnpairedSeeds(1, 1, 0.5), "G*Power's 64 a group for an effect of 0.5")
	assert.Equal(t, 1571, UnpairedSeeds(1, 1, 0.1), "G*Power's 1571 a group for an effect of 0.1")
	assert.Equal(t, 2, PairedSeeds(0, 1))
	assert.Zero(t, PairedSeeds(math.NaN(), 1))
	assert.Zero(t, PairedSeeds(1, 0))
}

// TestInfer: a law without noise is found with an interval of nothing; with noise the interval is
// Student's.
func TestInfer(t *testing.T) {
	x := []float64{1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7}
	truth := PowerLaw{12, 0.11}
	exact := make([]float64, len(x))
	for i := range x {
		exact[i] = truth.At(x[i])
	}
	f, ok := Infer(x, exact)
	assert.True(t, ok)
	assert.InDelta(t, truth.B, f.B, 1e-12)
	assert.InDelta(t, 2e5, f.Inverse(f.At(2e5)), 1e-3)
	exponent := func(p PowerLaw) float64 { return p.B }
	low, high := f.Interval(exponent)
	assert.InDelta(t, low, high, 1e-9)
	ratio, low, high := f.Ratio(f, func(p PowerLaw) float64 { return p.Inverse(4) })
	assert.InDeltaSlice(t, []float64{1, 1, 1}, []float64{ratio, low, high}, 1e-6)

	// scipy.stats.linregress of the same logarithms: exponent 0.142857, standard error 0.0797957,
	// t(97.5%, 2) = 4.302653.
	f, _ = Infer(exponentials(0, 1, 2, 4), exponentials(1, 0.5, 0.8, 0.3))
	low, high = f.Interval(exponent)
	assert.InDelta(t, 0.142857, f.B, 1e-6)
	assert.InDelta(t, 0.142857-4.302653*0.0797957, low, 0.03)
	assert.InDelta(t, 0.142857+4.302653*0.0797957, high, 0.03)

	draw := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		noisy := make([]float64, len(x))
		for i := range x {
			noisy[i] = exact[i] * math.Exp(0.02*draw.NormFloat64())
		}
		f, _ := Infer(x, noisy)
		squares := 0.0
		for i := range x {
			squares += math.Pow(math.Log(noisy[i]/f.At(x[i])), 2)
		}
		half := 2.570582 * math.Sqrt(squares/5/37.118044) // t(97.5%) of 5 degrees of freedom; the squared deviations of log x
		low, high := f.Interval(exponent)
		assert.InEpsilon(t, half, f.B-low, 0.08)
		assert.InEpsilon(t, half, high-f.B, 0.08)
	}

	_, ok = Infer(x[:2], exact[:2])
	assert.False(t, ok)
	_, ok = Infer([]float64{1, 1, 1}, []float64{1, 2, 3})
	assert.False(t, ok)
}

func exponentials(v ...float64) (all []float64) {
	for _, v := range v {
		all = append(all, math.Exp(v))
	}
	return all
}

// TestSteeper: scipy.stats.linregress has exponents of 0.142857 ± 0.0797957 and 0.299 ± 0.0129228,
// of two degrees of freedom each; Welch's test by scipy.stats.t, of 2.104838 degrees, has p =
// 0.186760.
func TestSteeper(t *testing.T) {
	a, _ := Infer(exponentials(0, 1, 2, 4), exponentials(1, 0.5, 0.8, 0.3))
	b, _ := Infer(exponentials(0, 1, 2, 3), exponentials(1, 0.72, 0.37, 0.12))
	difference, p := b.Steeper(a)
	assert.InDelta(t, 0.1561429, difference.Mean, 1e-6)
	assert.InDelta(t, 0.0808353, difference.Error, 1e-6)
	assert.InDelta(t, 0.1867601, p, 1e-6)
	back, q := a.Steeper(b)
	assert.InDelta(t, -difference.Mean, back.Mean, 1e-12)
	assert.InDelta(t, p, q, 1e-12)
	_, same := a.Steeper(a)
	assert.InDelta(t, 1, same, 1e-12)
}

// TestFitOffset: the irreducible part of losses without noise is found, and of a power law there is
// none.
func TestFitOffset(t *testing.T) {
	x := []float64{1e4, 3e4, 1e5, 3e5, 1e6, 3e6}
	above, plain := make([]float64, len(x)), make([]float64, len(x))
	truth := OffsetLaw{PowerLaw{60, 0.4}, 1.5}
	draw := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		above[i], plain[i] = truth.At(x[i]), 12*math.Pow(x[i], -0.11)*math.Exp(0.01*draw.NormFloat64())
	}
	law, p, ok := FitOffset(x, above)
	assert.True(t, ok)
	assert.InDelta(t, 1.5, law.E, 0.01)
	assert.InDelta(t, 0.4, law.B, 0.01)
	assert.Less(t, p, 1e-6)
	_, p, ok = FitOffset(x, plain)
	assert.True(t, ok)
	assert.Greater(t, p, 0.05)
	_, _, ok = FitOffset(x[:3], above[:3])
	assert.False(t, ok)
}

// paired are eight differences whose interval and p-value SciPy 1.16 has, too: bootstrap by BCa,
// and permutation_test of the samples.
var paired = []float64{-0.21, -0.1, -0.35, -0.05, 0.04, -0.6, -0.12, -0.2}

func TestSignFlip(t *testing.T) {
	assert.Equal(t, 2.0/256, SignFlip(paired))
	assert.Equal(t, 1.0/256, SignFlip([]float64{-1, -1, -1, -1, -1, -1, -1, -1}))
	assert.Equal(t, 1.0, SignFlip([]float64{1, 2, 3}))
	assert.Equal(t, 0.75, SignFlip([]float64{-1, 1}), "a sum of 0 or less: three of four")
	assert.True(t, math.IsNaN(SignFlip(nil)))
	assert.True(t, math.IsNaN(SignFlip(make([]float64, 21))))
}

func TestHolm(t *testing.T) {
	assert.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	assert.Equal(t, []float64{1, 1}, Holm([]float64{0.9, 0.8}))
}

func TestBootstrapMean(t *testing.T) {
	low, high := BootstrapMean(paired)
	assert.InDelta(t, -0.3675, low, 0.01)
	assert.InDelta(t, -0.0963, high, 0.01)
	again, _ := BootstrapMean(paired)
	assert.Equal(t, low, again)
	low, _ = BootstrapMean([]float64{1, 1, 1})
	assert.True(t, math.IsNaN(low))
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, Median([]float64{9, 1, 2}))
	assert.Equal(t, 1.5, Median([]float64{2, 1}))
	assert.Zero(t, Median(nil))
}

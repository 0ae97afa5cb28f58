package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
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

// sharedCurves are two curves of a law at four places, with three runs each, whose errors of log y
// have the given deviation.
func sharedCurves(truth SharedLaw, noise float64, draw *rand.Rand) [][]Runs {
	all := make([][]Runs, len(truth.Laws))
	for i, law := range truth.Laws {
		for _, x := range []float64{5e4, 1e5, 2e5, 5e5} {
			var r Runs
			for range 3 {
				r.X, r.Y = append(r.X, x), append(r.Y, (truth.E+law.At(x))*math.Exp(noise*draw.NormFloat64()))
			}
			all[i] = append(all[i], r)
		}
	}
	return all
}

// steeper is the difference of two curves' exponents.
func steeper(l SharedLaw) float64 { return l.Laws[1].B - l.Laws[0].B }

var sharedTruth = SharedLaw{1.5, []PowerLaw{{60, 0.4}, {30, 0.3}}}

// TestFitShared: the laws and the irreducible part of losses without noise are found.
func TestFitShared(t *testing.T) {
	f, ok := FitShared(sharedCurves(sharedTruth, 0, rand.New(rand.NewPCG(3, 4))), true)
	assert.True(t, ok)
	assert.InDelta(t, sharedTruth.E, f.E, 1e-4)
	for i, law := range sharedTruth.Laws {
		assert.InDelta(t, law.B, f.Laws[i].B, 1e-4)
		assert.InEpsilon(t, law.A, f.Laws[i].A, 1e-3)
	}
	_, low, high := f.Interval(steeper, 0.95)
	assert.InDelta(t, low, high, 1e-9)
}

// TestFitSharedIntervals: of noisy losses they hold the truth and not everything; where the truth
// has no irreducible part, that of E reaches 0; and with a single run at a place there are none.
func TestFitSharedIntervals(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	f, _ := FitShared(sharedCurves(sharedTruth, 0.003, draw), true)
	value, low, high := f.Interval(steeper, 0.95)
	assert.True(t, low < -0.1 && -0.1 < high && low < value && value < high && high < 0, "%v: %v to %v", value, low, high)
	_, low, high = f.Interval(func(l SharedLaw) float64 { return l.E }, 0.95)
	assert.True(t, 0 < low && low < sharedTruth.E && sharedTruth.E < high, "%v to %v", low, high)

	f, _ = FitShared(sharedCurves(SharedLaw{0, sharedTruth.Laws}, 0.01, draw), true)
	_, low, _ = f.Interval(func(l SharedLaw) float64 { return l.E }, 0.95)
	assert.Less(t, low, 0.05)

	once := sharedCurves(sharedTruth, 0, draw)
	once[0][1] = Runs{once[0][1].X[:1], once[0][1].Y[:1]}
	f, ok := FitShared(once, true)
	assert.True(t, ok)
	_, low, _ = f.Interval(steeper, 0.95)
	assert.True(t, math.IsNaN(low))
}

// TestFitSharedWants: more places than parameters, and two different x in each curve.
func TestFitSharedWants(t *testing.T) {
	c := sharedCurves(sharedTruth, 0, rand.New(rand.NewPCG(3, 4)))
	_, ok := FitShared([][]Runs{c[0][:3], c[1][:2]}, true)
	assert.False(t, ok, "five places, five parameters")
	_, ok = FitShared([][]Runs{c[0][:3], c[1][:2]}, false)
	assert.True(t, ok)
	_, ok = FitShared([][]Runs{c[0], {c[1][0], c[1][0]}}, false)
	assert.False(t, ok, "one x")
	_, ok = FitShared([][]Runs{c[0], nil}, false)
	assert.False(t, ok)
}

// TestFitSharedCovers: of 95% intervals from three seeds about 95% hold the true difference of
// exponents.
func TestFitSharedCovers(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	truth, held := SharedLaw{0, []PowerLaw{{9, 0.12}, {9, 0.15}}}, 0
	const times = 300
	for range times {
		f, _ := FitShared(sharedCurves(truth, 0.01, draw), false)
		if _, low, high := f.Interval(steeper, 0.95); low <= steeper(truth) && steeper(truth) <= high {
			held++
		}
	}
	assert.InDelta(t, 0.94, float64(held)/times, 0.04)
}

// BenchmarkSharedLawFalseAlarms reports how often the rule of docs/protocol.md, part 8, and the
// earlier one of part 5, find two exponents different that are equal:
//
//	go test ./internal/stats -run - -bench FalseAlarms -benchtime 400x
func BenchmarkSharedLawFalseAlarms(b *testing.B) {
	for _, truth := range []struct {
		name  string
		law   SharedLaw
		noise float64
	}{
		{"E=0.9", SharedLaw{0.9, []PowerLaw{{12, 0.25}, {11, 0.25}}}, 0.006},
		{"E=0.28", SharedLaw{0.28, []PowerLaw{{48, 0.286}, {44, 0.286}}}, 0.008},
		{"E=0", SharedLaw{0, []PowerLaw{{33, 0.24}, {30.25, 0.24}}}, 0.008},
	} {
		b.Run(truth.name, func(b *testing.B) {
			draw, part5, part8 := rand.New(rand.NewPCG(7, 8)), 0, 0
			for b.Loop() {
				curves := sharedCurves(truth.law, truth.noise, draw)
				if differ(curves, 0.95) {
					part5++
				}
				if differ(curves, DifferenceShare) {
					part8++
				}
			}
			b.ReportMetric(float64(part5)/float64(b.N), "part5/op")
			b.ReportMetric(float64(part8)/float64(b.N), "part8/op")
		})
	}
}

// differ tells whether two exponents differ by the rule of DifferenceShare, with another share.
func differ(curves [][]Runs, share float64) bool {
	f, _ := FitShared(curves, true)
	_, least, _ := f.Interval(func(l SharedLaw) float64 { return l.E }, 0.95)
	_, low, high := f.Interval(steeper, share)
	if found := low > 0 || high < 0; !found || least > 0 {
		return found
	}
	f, _ = FitShared(curves, false)
	_, low, high = f.Interval(steeper, share)
	return low > 0 || high < 0
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
}

// TestSignFlipOfMany: where there are too many differences to try all signs, random ones are drawn.
// For differences of one size the share follows a binomial distribution.
func TestSignFlipOfMany(t *testing.T) {
	many := make([]float64, 24)
	for i := range many {
		many[i] = 1
		if i < 15 {
			many[i] = -1
		}
	}
	binomial := distuv.Binomial{N: 24, P: 0.5}
	assert.InDelta(t, binomial.CDF(9), SignFlip(many), 4*math.Sqrt(0.15/(1<<20)))
	assert.Equal(t, SignFlip(many), SignFlip(many))
	for i := range many {
		many[i] = -1
	}
	assert.Equal(t, 1.0/(1<<20), SignFlip(many))
}

func TestHolm(t *testing.T) {
	assert.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	assert.Equal(t, []float64{1, 1}, Holm([]float64{0.9, 0.8}))
	withNone := Holm([]float64{0.01, math.NaN(), 0.02})
	assert.InDelta(t, 0.03, withNone[0], 1e-12)
	assert.True(t, math.IsNaN(withNone[1]))
	assert.InDelta(t, 0.04, withNone[2], 1e-12)
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

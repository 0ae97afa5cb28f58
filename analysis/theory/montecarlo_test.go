package theory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// most is the number of standard errors within which an estimate agrees with a closed form.
const most = 4

func TestEstimatesAgreeAndWrongFormulasDoNot(t *testing.T) {
	s := PropagationSetting()
	x, g, w := s.Input, s.Gradient, s.WeightVariance
	for _, o := range []Operation{Retrieve(32, 48, 16), Store(32, 8, 16), Linear(64, 160)} {
		in, out, shared := float64(o.FanIn()), float64(o.FanOut()), float64(o.Shared)
		for pass, wrong := range map[string][]float64{
			passForward:  {out * w * x.Square(), in * w * x.Variance, in * math.Sqrt(w) * x.Square(), shared * w * x.Square(), (in + 6) * w * x.Square()},
			passBackward: {in * w * g.Square(), out * w * g.Variance, out * w * w * g.Square(), (out + 16) * w * g.Square()},
			passWeights:  {shared * g.Variance * x.Variance, in * g.Square() * x.Square(), shared * (g.Square()*x.Variance + x.Square()*g.Variance)},
		} {
			closed := o.closedForm(pass, s)
			found := o.simulate(pass, s, 2000, 7, normal)
			assert.InDelta(t, closed.Mean, found.Mean, most*found.MeanError, "%s %s: mean", o.Name, pass)
			assert.InDelta(t, closed.Variance, found.Variance, most*found.VarianceError, "%s %s: variance", o.Name, pass)
			for i, formula := range wrong {
				assert.Greater(t, math.Abs(formula-found.Variance), most*found.VarianceError, "%s %s: wrong formula %d passes", o.Name, pass, i)
			}
		}
	}
}

// That the weights' gradient has a mean where input and gradient have one is found, too.
func TestEstimateOfMean(t *testing.T) {
	o, s := Store(32, 8, 16), PropagationSetting()
	found := o.simulate(passWeights, s, 500, 3, normal)
	assert.Greater(t, math.Abs(found.Mean), 20*found.MeanError)
}

// Forward and backward ask nothing of the dependence among the input's entries: here all of a
// trial's are one number, uniformly distributed.
func TestDependentInputs(t *testing.T) {
	one := func(r *rand.Rand, m Moments, entries []float64) {
		v := m.Mean + math.Sqrt(12*m.Variance)*(r.Float64()-0.5)
		for i := range entries {
			entries[i] = v
		}
	}
	s := PropagationSetting()
	for _, o := range []Operation{Retrieve(32, 48, 16), Store(32, 8, 16), Linear(64, 160)} {
		for _, pass := range []string{passForward, passBackward} {
			closed := o.closedForm(pass, s)
			found := o.simulate(pass, s, 2000, 11, one)
			assert.InDelta(t, closed.Variance, found.Variance, most*found.VarianceError, "%s %s", o.Name, pass)
			assert.Less(t, found.VarianceError, 0.1*closed.Variance)
		}
	}
}

// Standard errors are what they claim: over many seeds the deviations have a variance of about 1.
func TestStandardErrors(t *testing.T) {
	const seeds = 150
	for _, c := range []struct {
		o    Operation
		pass string
		s    Setting
	}{
		{Retrieve(8, 6, 4), passForward, PropagationSetting()},
		{Store(8, 6, 16), passWeights, Setting{Input: Moments{2, 0.3}, Gradient: Moments{1.5, 0.2}}}, // a large mean
	} {
		o, pass, s := c.o, c.pass, c.s
		closed := o.closedForm(pass, s)
		var means, variances tally
		for seed := range uint64(seeds) {
			found := o.simulate(pass, s, 300, seed, normal)
			mean, variance := Comparison{Closed: closed, MonteCarlo: found}.Deviations()
			means.add([]float64{mean})
			variances.add([]float64{variance})
		}
		for _, deviations := range []tally{means, variances} {
			e := deviations.estimate()
			assert.InDelta(t, 1, e.Variance, most*math.Sqrt(2.0/seeds), pass)
			assert.InDelta(t, 0, e.Mean, most/math.Sqrt(seeds), pass)
		}
	}
}

func TestMonteCarloIsDeterministic(t *testing.T) {
	o, s := Store(8, 4, 4), PropagationSetting()
	run := func(seed uint64) Estimate {
		found := o.simulate(passForward, s, 50, seed, normal)
		return found
	}
	assert.Equal(t, run(5), run(5))
	assert.NotEqual(t, run(5), run(6))
}

package theory

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/numerics"
)

// Estimate is the result of a Monte-Carlo run: moments with their standard errors.
type Estimate struct {
	Moments
	MeanError     float64 `json:"mean_error"`     // standard error of the mean
	VarianceError float64 `json:"variance_error"` // standard error of the variance
	Trials        int     `json:"trials"`
}

// observed is the number of entries along an axis of the result that a trial looks at. All entries
// have the same distribution, so the weights of the others need not be drawn.
const observed = 16

// filler fills a tensor with random entries of the given moments.
type filler func(r *rand.Rand, m Moments, entries []float64)

// normal entries are independent.
func normal(r *rand.Rand, m Moments, entries []float64) {
	deviation := math.Sqrt(m.Variance)
	for i := range entries {
		entries[i] = m.Mean + deviation*r.NormFloat64()
	}
}

// simulate estimates the moments of a pass's result: each trial draws weights afresh from a normal
// distribution, fills input and gradient by fill, makes the product as the operation defines it,
// and looks at up to 16 entries along each axis that the weights span. Entries of one trial depend
// on each other, so the standard errors come from the spread between trials, of which there must
// be at least 2. The result depends on the arguments alone.
func (o Operation) simulate(pass string, s Setting, trials int, seed uint64, fill filler) Estimate {
	random := rand.New(rand.NewPCG(seed, label(o.Name+" "+pass)))
	var sums tally
	for range trials {
		sums.add(o.trial(pass, s, random, fill).RawMatrix().Data)
	}
	return sums.estimate()
}

// label returns a number by which different operations and passes get different random numbers.
func label(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// trial draws one result of a pass.
func (o Operation) trial(pass string, s Setting, random *rand.Rand, fill filler) *mat.Dense {
	draw := func(rows, columns int, m Moments, fill filler) *mat.Dense {
		tensor := mat.NewDense(rows, columns, nil)
		fill(random, m, tensor.RawMatrix().Data)
		return tensor
	}
	in, out := o.FanIn(), o.FanOut()
	switch pass { // outputs beyond the observed are cut off
	case passForward:
		out = min(out, observed)
	case passBackward:
		in = min(in, observed)
	default:
		in, out = min(in, observed), min(out, observed)
		return o.weightGradient(draw(in, o.Shared, s.Input, fill), draw(out, o.Shared, s.Gradient, fill))
	}
	rows, columns := out, in
	if o.Transposed {
		rows, columns = in, out
	}
	w := draw(rows, columns, Moments{Variance: s.WeightVariance}, normal)
	if pass == passForward {
		return o.forward(w, draw(in, o.Shared, s.Input, fill))
	}
	return o.backward(w, draw(out, o.Shared, s.Gradient, fill))
}

// oriented returns the matrix that multiplies the input: W, or W^T for a store.
func (o Operation) oriented(w *mat.Dense) mat.Matrix {
	if o.Transposed {
		return w.T()
	}
	return w
}

// forward returns W x, or W^T x for a store.
func (o Operation) forward(w, x *mat.Dense) *mat.Dense { return product(o.oriented(w), x) }

// backward returns the gradient of the input: W^T g, or W g for a store.
func (o Operation) backward(w, g *mat.Dense) *mat.Dense { return product(o.oriented(w).T(), g) }

// weightGradient returns g x^T, or x g^T for a store.
func (o Operation) weightGradient(x, g *mat.Dense) *mat.Dense {
	if o.Transposed {
		return product(x, g.T())
	}
	return product(g, x.T())
}

func product(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// tally gathers each trial's mean and mean square.
type tally struct{ means, squares []float64 }

func (t *tally) add(entries []float64) {
	mean, square := 0.0, 0.0
	for _, v := range entries {
		mean += v
		square += v * v
	}
	n := float64(len(entries))
	t.means, t.squares = append(t.means, mean/n), append(t.squares, square/n)
}

// estimate returns variance = E[y^2] - E[y]^2, corrected for the bias of the estimated mean. Its
// standard error follows, to first order, from the standard error of y^2 - 2 E[y] y (delta method).
func (t *tally) estimate() Estimate {
	mean, square := numerics.NewEstimate(t.means), stat.Mean(t.squares, nil)
	linear := make([]float64, len(t.means))
	for i := range linear {
		linear[i] = t.squares[i] - 2*mean.Mean*t.means[i]
	}
	variance := square - mean.Mean*mean.Mean + mean.StandardError*mean.StandardError
	return Estimate{Moments{mean.Mean, variance}, mean.StandardError, numerics.NewEstimate(linear).StandardError, len(t.means)}
}

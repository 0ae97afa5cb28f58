package theory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/models/check"
)

// operations of unequal sizes.
func operations() []Operation {
	return []Operation{Retrieve(5, 3, 4), Store(5, 2, 4), Linear(6, 7)}
}

func randomDense(rows, columns int, seed uint64) *mat.Dense {
	tensor := mat.NewDense(rows, columns, nil)
	normal(rand.New(rand.NewPCG(seed, 0)), Moments{Variance: 1}, tensor.RawMatrix().Data)
	return tensor
}

// The products are the paper's equations, written out entry by entry.
func TestForwardIsTheEquation(t *testing.T) {
	const dk, dv, keys = 5, 4, 3
	r, x := randomDense(keys, dk, 1), randomDense(dk, dv, 2)
	y := Retrieve(dk, keys, dv).forward(r, x)
	for j := range keys {
		for v := range dv {
			sum := 0.0
			for k := range dk {
				sum += r.At(j, k) * x.At(k, v) // eq. 22
			}
			assert.InDelta(t, sum, y.At(j, v), 1e-12)
		}
	}
	data := randomDense(keys, dv, 3)
	stored := Store(dk, keys, dv).forward(r, data)
	for k := range dk {
		for v := range dv {
			sum := 0.0
			for h := range keys {
				sum += r.At(h, k) * data.At(h, v) // eq. 20: w[h] ⊗ y_h
			}
			assert.InDelta(t, sum, stored.At(k, v), 1e-12)
		}
	}
}

// The gradients are the derivatives of <g, f(w, x)>, which is linear in each of w, x and g.
func TestGradientsAreAdjoint(t *testing.T) {
	for i, o := range operations() {
		seed := uint64(10 * i)
		w, x, g := randomDense(o.Rows, o.Columns, seed), randomDense(o.FanIn(), o.Shared, seed+1), randomDense(o.FanOut(), o.Shared, seed+2)
		loss := inner(g, o.forward(w, x))
		assert.InDelta(t, loss, inner(o.backward(w, g), x), 1e-10, o.Name)
		assert.InDelta(t, loss, inner(o.weightGradient(x, g), w), 1e-10, o.Name)
	}
}

func inner(a, b *mat.Dense) float64 {
	sum := 0.0
	for i, v := range a.RawMatrix().Data {
		sum += v * b.RawMatrix().Data[i]
	}
	return sum
}

// The closed forms are exact: the mean over every combination of signs of two-valued weights,
// inputs and gradients.
func TestClosedFormByEnumeration(t *testing.T) {
	s := Setting{Input: Moments{0.7, 1.3}, Gradient: Moments{-0.4, 0.6}, WeightVariance: 0.3}
	for _, o := range []Operation{Retrieve(3, 2, 1), Retrieve(2, 1, 2), Store(2, 3, 1), Store(1, 2, 2), Linear(3, 2)} {
		for _, pass := range []string{passForward, passBackward, passWeights} {
			closed := o.closedForm(pass, s)
			exact := enumerate(o, pass, s)
			assert.InDelta(t, exact.Mean, closed.Mean, 1e-12, "%s %s", o.Name, pass)
			assert.InDelta(t, exact.Variance, closed.Variance, 1e-12, "%s %s", o.Name, pass)
		}
	}
}

// enumerate is the moments of a pass's first entry over all combinations of signs.
func enumerate(o Operation, pass string, s Setting) Moments {
	sizes := []int{o.Rows * o.Columns, o.FanIn() * o.Shared, o.FanOut() * o.Shared}
	n := sizes[0] + sizes[1] + sizes[2]
	mean, square := 0.0, 0.0
	for bits := range 1 << n {
		at := 0
		draw := func(rows, columns int, m Moments) *mat.Dense {
			tensor := mat.NewDense(rows, columns, nil)
			for i := range tensor.RawMatrix().Data {
				sign := float64(2*(bits>>at&1) - 1)
				tensor.RawMatrix().Data[i] = m.Mean + sign*math.Sqrt(m.Variance)
				at++
			}
			return tensor
		}
		w := draw(o.Rows, o.Columns, Moments{Variance: s.WeightVariance})
		x, g := draw(o.FanIn(), o.Shared, s.Input), draw(o.FanOut(), o.Shared, s.Gradient)
		v := map[string]func() *mat.Dense{
			passForward:  func() *mat.Dense { return o.forward(w, x) },
			passBackward: func() *mat.Dense { return o.backward(w, g) },
			passWeights:  func() *mat.Dense { return o.weightGradient(x, g) },
		}[pass]().At(0, 0)
		mean += v / float64(int(1)<<n)
		square += v * v / float64(int(1)<<n)
	}
	return Moments{mean, square - mean*mean}
}

func TestMonteCarloRefuses(t *testing.T) {
	propagation := func(s Setting, trials int) error { _, err := NewPropagation(s, trials, 0); return err }
	_, gains := NewXavierGains(1, 0)
	moments := check.ValueError{Name: "setting", Want: "finite moments and no negative variance"}
	assert.ErrorIs(t, gains, check.ValueError{Name: "trials", Got: "1"})
	assert.ErrorIs(t, propagation(PropagationSetting(), 1), check.ValueError{Name: "trials", Got: "1"})
	assert.ErrorIs(t, propagation(Setting{WeightVariance: -1}, 2), moments)
	assert.ErrorIs(t, propagation(Setting{WeightVariance: math.Inf(1)}, 2), moments)
	assert.ErrorIs(t, propagation(Setting{Input: Moments{Variance: -1}}, 2), moments)
	assert.ErrorIs(t, propagation(Setting{Gradient: Moments{Mean: math.NaN()}}, 2), moments)
}

package probe

import (
	"math"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/numerics"
)

// fit fits probes to some tokens, for any labels and penalties. A probe scores class c as (x -
// mean)/deviation . w_c + b_c. With n tokens, and y_c 1 for the tokens of class c and 0 for all
// others, it minimises
//
//	ridge:     sum over c of |X w_c + b_c - y_c|^2 + penalty n |w_c|^2
//	logistic:  - sum over tokens of log softmax(X w + b)[label] + penalty n/2 sum over c of |w_c|^2
//
// (Hastie, Tibshirani & Friedman 2009, sections 3.4.1 and 4.4).
type fit struct {
	of              Data
	tokens          []int
	solve           func(labels []int, penalty float64) (w *mat.Dense, b []float64, err error) // penalty times n
	mean, deviation []float64
	x               *mat.Dense // [n, entries], standardised
	gram            *mat.Dense // x^T x; nil: not needed yet
	factors         map[float64]*mat.Cholesky
}

// newFit standardises the entries by the tokens.
func (d Data) newFit(tokens []int, method Method) *fit {
	_, entries := d.X.Dims()
	f := &fit{of: d, tokens: tokens, mean: make([]float64, entries), deviation: make([]float64, entries), factors: map[float64]*mat.Cholesky{}}
	if f.solve = f.ridge; method == Logistic {
		f.solve = f.logistic
	}
	f.x = mat.NewDense(len(tokens), entries, nil)
	column := make([]float64, len(tokens))
	for j := range entries {
		for i, token := range tokens {
			column[i] = d.X.At(token, j)
		}
		f.mean[j], f.deviation[j] = stat.PopMeanStdDev(column, nil)
		if f.deviation[j] < 1e-12*(1+math.Abs(f.mean[j])) {
			f.deviation[j] = math.Inf(1) // the entry says nothing
		}
		for i, v := range column {
			f.x.Set(i, j, (v-f.mean[j])/f.deviation[j])
		}
	}
	return f
}

// judge fits a probe to labels and sets right to 1 for the tested tokens whose label it finds, and
// to 0 for the others.
func (f *fit) judge(labels []int, penalty float64, test []int, right []float64) error {
	y := make([]int, len(f.tokens))
	for i, token := range f.tokens {
		y[i] = labels[token]
	}
	w, b, err := f.solve(y, penalty*float64(len(y)))
	if err != nil {
		return err
	}
	x := mat.NewDense(len(test), len(f.mean), nil)
	for i, token := range test {
		for j, v := range f.of.X.RawRowView(token) {
			x.Set(i, j, (v-f.mean[j])/f.deviation[j])
		}
	}
	scores := numerics.Mul(x, w)
	for i, token := range test {
		row := scores.RawRowView(i)
		floats.Add(row, b)
		right[token] = 0
		if floats.MaxIdx(row) == labels[token] {
			right[token] = 1
		}
	}
	return nil
}

// ridge returns weights [entries, classes] and biases.
func (f *fit) ridge(labels []int, penalty float64) (*mat.Dense, []float64, error) {
	n, entries := f.x.Dims()
	classes := f.of.Classes
	if f.gram == nil {
		f.gram = numerics.GramOfColumns(f.x)
	}
	factor := f.factors[penalty]
	if factor == nil {
		factor = new(mat.Cholesky)
		f.factors[penalty] = factor
		a := mat.NewSymDense(entries, slices.Clone(f.gram.RawMatrix().Data))
		for j := range entries {
			a.SetSym(j, j, a.At(j, j)+penalty)
		}
		if !factor.Factorize(a) {
			return nil, nil, errors.New("probe: want finite activations, got others")
		}
	}
	y, b := mat.NewDense(n, classes, nil), make([]float64, classes)
	for i, c := range labels {
		y.Set(i, c, 1)
		b[c] += 1 / float64(n)
	}
	var w mat.Dense
	err := factor.SolveTo(&w, numerics.Mul(f.x.T(), y))
	var near mat.Condition
	if errors.As(err, &near) { // solved, if inexactly
		err = nil
	}
	return &w, b, errors.WithStack(err)
}

// logisticSteps bounds the steps of L-BFGS.
const logisticSteps = 200

// logistic returns weights [entries, classes] and biases.
func (f *fit) logistic(labels []int, penalty float64) (*mat.Dense, []float64, error) {
	_, entries := f.x.Dims()
	classes := f.of.Classes
	// loss also sets the gradient, unless it is nil; both are of parameters [entries+1, classes],
	// the biases last.
	loss := func(gradient, at []float64) float64 {
		w, b := mat.NewDense(entries, classes, at[:entries*classes]), at[entries*classes:]
		sum, p := 0.0, numerics.Mul(f.x, w)
		for i, c := range labels {
			row := p.RawRowView(i)
			floats.Add(row, b)
			z := floats.LogSumExp(row)
			sum += z - row[c]
			for k, v := range row {
				row[k] = math.Exp(v - z)
			}
			row[c]--
		}
		if gradient != nil {
			copy(gradient, numerics.Mul(f.x.T(), p).RawMatrix().Data)
			floats.AddScaled(gradient[:entries*classes], penalty, w.RawMatrix().Data)
			for k := range b {
				gradient[entries*classes+k] = floats.Sum(mat.Col(nil, k, p))
			}
		}
		return sum + penalty/2*floats.Dot(at[:entries*classes], at[:entries*classes])
	}
	problem := optimize.Problem{Func: func(at []float64) float64 { return loss(nil, at) }, Grad: func(gradient, at []float64) { loss(gradient, at) }}
	tolerance := 1e-6 * float64(len(labels))
	found, err := optimize.Minimize(problem, make([]float64, (entries+1)*classes),
		&optimize.Settings{MajorIterations: logisticSteps, GradientThreshold: tolerance}, &optimize.LBFGS{})
	if found == nil {
		return nil, nil, errors.Wrap(err, "probe")
	}
	return mat.NewDense(entries, classes, found.X[:entries*classes]), found.X[entries*classes:], nil
}

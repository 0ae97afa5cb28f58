package memory

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// Associative measures what one matrix M [Dk, Dv], the stream of the Residual Matrix Transformer,
// keeps of N pairs of a key and a value (Kohonen 1972, "Correlation matrix memories"; Mak &
// Flanigan 2025): stored as outer products, read by a key,
//
//	M = sum_j k_j ⊗ v_j,   k_i M = v_i + sum_(j != i) (k_i . k_j) v_j   for unit keys
//
// with the relative error E = sum_i |k_i M - v_i|^2 / sum_i |v_i|^2. Values are standard normal.
// Given the keys, the mean of the numerator is Dv sum_(i != j) (k_i . k_j)^2 and the mean of the
// denominator N Dv; E depends only on the direction of the values, taken as one vector of N*Dv
// entries. This direction is independent of the vector's length, so the mean of E is the ratio of
// the two means:
//
//	mean E = (N-1) MeanSquared,   with MeanSquared of the keys' Coherence
//
// This is (N-1)/Dk for unit keys drawn uniformly (computed here; the paper does not say it). By
// Welch's bound it is at least max(0, N/Dk - 1) for any keys; orthogonal keys reach 0 up to N = Dk.
// Least squares (Kohonen & Ruohonen 1973; what the delta rule converges to) stores M = K^+ V
// instead, K [N, Dk] the keys, and reads K K^+ V: what is lost is the part of V outside the span of
// K's columns,
//
//	mean E = max(0, 1 - Dk/N)
type Associative struct {
	Dk     int               `json:"dk"`
	Dv     int               `json:"dv"`
	Seeds  int               `json:"seeds"`
	Curves []RetrievalCurve  `json:"curves"`
	Shared []SharedRetrieval `json:"shared"` // error at one N, for keys of growing coherence
}

// RetrievalCurve holds the error for one kind of keys by the number of pairs.
type RetrievalCurve struct {
	Keys   string           `json:"keys"` // KeysRandom, KeysOrthonormal, KeysLeastSquares
	Points []RetrievalPoint `json:"points"`
}

// The kinds of keys and of storing.
const (
	KeysRandom       = "random"        // unit vectors drawn uniformly
	KeysOrthonormal  = "orthonormal"   // random orthonormal bases, one after another
	KeysLeastSquares = "least squares" // random keys, M = K^+ V
)

// Retrieval holds a measured error and the error by theory.
type Retrieval struct {
	Pairs         int     `json:"pairs"`          // N
	Error         float64 `json:"error"`          // mean over seeds of the relative squared error
	StandardError float64 `json:"standard_error"` // of that mean
	Theory        float64 `json:"theory"`
	Max           float64 `json:"max_cosine"`          // of the keys, mean over seeds
	MeanSquared   float64 `json:"mean_squared_cosine"` // of the keys, mean over seeds
}

// RetrievalPoint is a Retrieval at one load.
type RetrievalPoint struct {
	Load float64 `json:"load"` // N/Dk
	Retrieval
	Welch float64 `json:"welch"` // the least that Max can be
	Least float64 `json:"least"` // the least error of outer products, whatever the keys
}

// SharedRetrieval is a Retrieval with keys that pairwise have the same cosine.
type SharedRetrieval struct {
	Cosine float64 `json:"cosine"`
	Retrieval
}

// Options say what memories to try.
type Options struct {
	Dk    int    // 0: 64
	Dv    int    // 0: 64
	Pairs []int  // numbers of pairs; nil: Dk/8 to 4 Dk
	Seeds int    // memories for each number of pairs, at least 2; 0: 16
	Seed  uint64 // of all that is drawn
}

func (o Options) resolve() (Options, error) {
	o.Dk, o.Dv, o.Seeds = cmp.Or(o.Dk, 64), cmp.Or(o.Dv, 64), cmp.Or(o.Seeds, 16)
	if err := cmp.Or(check.AtLeast("dk", 2, o.Dk), check.AtLeast("dv", 1, o.Dv), check.AtLeast("seeds", 2, o.Seeds)); err != nil {
		return o, err
	}
	if o.Pairs == nil {
		for _, eighths := range []int{1, 2, 4, 6, 8, 12, 16, 24, 32} {
			o.Pairs = append(o.Pairs, max(1, eighths*o.Dk/8))
		}
		o.Pairs = slices.Compact(o.Pairs)
	}
	for _, n := range o.Pairs {
		if n < 1 {
			return o, check.Value("pairs", "at least 1", n)
		}
	}
	return o, nil
}

// Try stores pairs in matrices and reads them back.
func Try(ctx context.Context, o Options) (*Associative, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	m := &Associative{Dk: o.Dk, Dv: o.Dv, Seeds: o.Seeds}
	draw := rand.New(rand.NewPCG(o.Seed, 1))
	for _, kind := range []string{KeysRandom, KeysOrthonormal, KeysLeastSquares} {
		curve := RetrievalCurve{Keys: kind}
		for _, n := range o.Pairs {
			point, err := retrievalPoint(ctx, draw, o, kind, n)
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, point)
		}
		m.Curves = append(m.Curves, curve)
	}
	m.Shared, err = sharedRetrievals(ctx, draw, o)
	return m, err
}

func retrievalPoint(ctx context.Context, draw *rand.Rand, o Options, kind string, n int) (RetrievalPoint, error) {
	r, err := retrieve(ctx, o, n, kind == KeysLeastSquares, draw, func() *mat.Dense {
		if kind == KeysOrthonormal {
			return numerics.OrthonormalVectors(draw, n, o.Dk)
		}
		return numerics.UnitVectors(draw, n, o.Dk)
	})
	load := float64(n) / float64(o.Dk)
	r.Theory = retrievalTheory(kind, n, o.Dk)
	return RetrievalPoint{Load: load, Retrieval: r, Welch: welchBound(n, o.Dk), Least: max(0, load-1)}, err
}

// retrievalTheory returns the mean error. With orthonormal bases, q whole ones and m keys of one
// more, the squared cosines of a key with each other whole basis sum to 1, and with the keys of the
// last basis to m/Dk on average.
func retrievalTheory(kind string, n, dk int) float64 {
	pairs, size := float64(n), float64(dk)
	switch kind {
	case KeysLeastSquares:
		return max(0, 1-size/pairs)
	case KeysOrthonormal:
		q, m := float64(n/dk), float64(n%dk)
		return (q*size*(q-1+m/size) + m*q) / pairs
	}
	return (pairs - 1) / size
}

// sharedRetrievals tries Dk-1 keys of growing coherence.
func sharedRetrievals(ctx context.Context, draw *rand.Rand, o Options) ([]SharedRetrieval, error) {
	var all []SharedRetrieval
	n := o.Dk - 1
	for _, cosine := range []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5} {
		r, err := retrieve(ctx, o, n, false, draw, func() *mat.Dense { return numerics.EquiangularVectors(draw, n, o.Dk, cosine) })
		if err != nil {
			return nil, err
		}
		r.Theory = float64(n-1) * cosine * cosine
		all = append(all, SharedRetrieval{cosine, r})
	}
	return all, nil
}

// retrieve fills o.Seeds memories and reads them.
func retrieve(ctx context.Context, o Options, n int, leastSquares bool, draw *rand.Rand, keys func() *mat.Dense) (Retrieval, error) {
	r := Retrieval{Pairs: n}
	var each []float64
	for range o.Seeds {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		k, v := keys(), numerics.Gaussian(draw, n, o.Dv)
		e, err := retrievalError(k, v, leastSquares)
		if err != nil {
			return r, err
		}
		each = append(each, e)
		c := coherenceOf(k)
		r.Max, r.MeanSquared = r.Max+c.Max/float64(o.Seeds), r.MeanSquared+c.MeanSquared/float64(o.Seeds)
	}
	of := numerics.NewEstimate(each)
	r.Error, r.StandardError = of.Mean, of.StandardError
	return r, nil
}

// retrievalError stores values v [N, Dv] under keys k [N, Dk] in one matrix [Dk, Dv], reads
// them, and returns ||k M - v||^2 / ||v||^2.
func retrievalError(k, v *mat.Dense, leastSquares bool) (float64, error) {
	var memory, read mat.Dense
	if leastSquares {
		if err := memory.Solve(k, v); err != nil {
			return 0, errors.Wrapf(err, "least squares of %d keys", k.RawMatrix().Rows)
		}
	} else {
		memory.Mul(k.T(), v)
	}
	read.Mul(k, &memory)
	read.Sub(&read, v)
	return numerics.Dot(&read, &read) / numerics.Dot(v, v), nil
}

// Table returns a table with a row for each number of pairs.
func (m *Associative) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("one matrix of %d x %d as a memory: relative squared error of what is read, %d seeds", m.Dk, m.Dv, m.Seeds), "lrrrrrrrr",
		"keys", "pairs", "N/Dk", "error", "standard error", "theory", "mean squared cosine", "largest |cosine|", "Welch bound")
	t.Note = "N: the pairs. error: the mean of |read - stored|² / |stored|². cosine: of two keys; Welch bound: the smallest\n" +
		"value that the largest |cosine| can have."
	for _, c := range m.Curves {
		for _, p := range c.Points {
			t.Row(c.Keys, p.Pairs, p.Load, p.Error, p.StandardError, p.Theory, p.MeanSquared, p.Max, p.Welch)
		}
	}
	return t
}

// Figures plots the error against N/Dk, the coherence of the keys against N/Dk, and the error
// against the coherence.
func (m *Associative) Figures() []figure.Figure {
	errors := figure.NewLines("Error of what is read from an outer-product memory", "pairs / Dk", "|read - v|² / |v|²")
	coherence := figure.NewLines("Coherence of the keys", "pairs / Dk", "largest |cosine|")
	for _, c := range m.Curves {
		measured, theory, largest := figure.Series{Name: c.Keys + ", measured", Points: true}, figure.Series{Name: c.Keys + ", theory"}, figure.Series{Name: c.Keys}
		for _, p := range c.Points {
			measured.Add(p.Load, p.Error, p.StandardError)
			theory.Add(p.Load, p.Theory)
			largest.Add(p.Load, p.Max)
		}
		errors.Series = append(errors.Series, measured, theory)
		if c.Keys != KeysLeastSquares { // whose keys are the random ones
			coherence.Series = append(coherence.Series, largest)
		}
	}
	errors.Series = append(errors.Series, m.bound("least of outer products", func(p RetrievalPoint) float64 { return p.Least }))
	coherence.Series = append(coherence.Series, m.bound("Welch bound", func(p RetrievalPoint) float64 { return p.Welch }))
	return []figure.Figure{errors, coherence, m.sharedFigure()}
}

// bound plots a bound of each point against its load N/Dk.
func (m *Associative) bound(name string, of func(p RetrievalPoint) float64) figure.Series {
	s := figure.Series{Name: name}
	for _, p := range m.Curves[0].Points {
		s.Add(p.Load, of(p))
	}
	return s
}

func (m *Associative) sharedFigure() figure.Lines {
	measured, theory := figure.Series{Name: "measured", Points: true}, figure.Series{Name: "(N-1) x mean squared cosine"}
	for _, p := range m.Shared {
		measured.Add(p.Cosine, p.Error, p.StandardError)
		theory.Add(p.Cosine, p.Theory)
	}
	return figure.Lines{Title: fmt.Sprintf("Error against coherence, %d pairs", m.Dk-1), XLabel: "cosine of any two keys", YLabel: "|read - v|² / |v|²",
		Series: []figure.Series{measured, theory}}
}

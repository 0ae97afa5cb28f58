package kernel

import "math"

// DeltaWriteParams are the sizes and constants of a DeltaWrite.
type DeltaWriteParams struct {
	Tokens int     // T, may be 0
	N      int     // rows of a token's stream
	D      int     // entries of a row, and of the vector that is written
	Eps    float64 // added in normalising the vector that is written
	Scale  float64 // factor of the values
}

// DeltaWrite writes to a stream of N rows by the delta rule (Zhang et al. 2026, arXiv 2601.00417):
// it removes from each row the component along a direction k, and writes a value there. With X_t
// [N, D] the stream of token t, y_t [D] a sublayer's output, gate g_t and values h_t [N],
//
//	k = y / sqrt(|y|^2 + Eps^2);   beta = 2 g;   v = Scale h
//	X'[c] = X[c] + beta (v[c] - k . X[c]) k
type DeltaWrite[T Float] struct {
	forward  deltaWriteTask[T]
	backward deltaWriteGradTask[T]
	path     path
}

// Forward computes out [T, N, D] from x [T, N, D], y [T, D], gate [T] and values [T, N]. out may
// be x.
func (k *DeltaWrite[T]) Forward(p *Pool, out, x, y, gate, values []T, d DeltaWriteParams) {
	t := &k.forward
	t.d, t.path = d, pathOf[T](k.path)
	t.rows = newCombination[T](k.path, d.N, d.D, coefficients{k: 1, stride: 1})
	t.dots = dots[T]{path: t.path, m: d.N, n: 1, k: d.D, cs: 1}
	t.out, t.x, t.y, t.gate, t.values = out, x, y, gate, values
	t.factors = growRows(t.factors, p, d.N)
	p.Do(d.Tokens, t)
}

type deltaWriteTask[T Float] struct {
	rows                    combination[T]
	dots                    dots[T]
	out, x, y, gate, values []T
	factors                 [][]T // factors of y in each row, one slice for each worker
	d                       DeltaWriteParams
	path                    path
}

func (t *deltaWriteTask[T]) Part(worker, lo, hi int) {
	rows, dots, d := t.rows, t.dots, t.d
	factors, ahead := t.factors[worker], tokensAhead[T](d.N*d.D)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, d.N*d.D)
		prefetchToken(t.out, i+ahead, d.N*d.D)
		x, y, h := rowOf(t.x, i, d.N*d.D), rowOf(t.y, i, d.D), rowOf(t.values, i, d.N)
		inverse := d.inverseNorm(dotProduct(t.path, y, y))
		dots.run(factors, x, y)
		beta := 2 * float64(t.gate[i])
		for c, product := range factors {
			factors[c] = T(beta * (d.Scale*float64(h[c]) - float64(product)*inverse) * inverse)
		}
		rows.run(rowOf(t.out, i, d.N*d.D), factors, y, nil, nil, x)
	}
}

// inverseNorm returns 1/sqrt(|y|^2 + Eps^2).
func (d DeltaWriteParams) inverseNorm(squares float64) float64 {
	return 1 / math.Sqrt(squares+d.Eps*d.Eps)
}

// DeltaWriteGrads holds the slices for the gradients. Except for X, a nil slice means that the
// gradient is not wanted.
type DeltaWriteGrads[T Float] struct {
	X, Y, Gate, Values             []T
	AddToY, AddToGate, AddToValues bool // add to what the slices hold
}

// Backward computes the gradients of Forward's x, y, gate and values from dout [T, N, D]. With
// a[c] = k . dout[c] and s[c] = k . X[c],
//
//	dX[c] = dout[c] - beta a[c] k;   dv[c] = beta a[c];   dbeta = sum over c of a[c] (v[c] - s[c])
//	dk = beta sum over c of (v[c] - s[c]) dout[c] - a[c] X[c];   dy = (dk - (k . dk) k) / sqrt(|y|^2 + Eps^2)
//
// grads.X may be dout.
func (k *DeltaWrite[T]) Backward(p *Pool, grads DeltaWriteGrads[T], dout, x, y, gate, values []T, d DeltaWriteParams) {
	t := &k.backward
	t.d, t.path, t.grads = d, pathOf[T](k.path), grads
	t.rows = newCombination[T](k.path, d.N, d.D, coefficients{k: 1, stride: 1})
	t.sum = newCombination[T](k.path, 1, d.D, coefficients{k: d.N, stride: d.N}, coefficients{k: d.N, stride: d.N})
	t.dots = dots[T]{path: t.path, m: d.N, n: 1, k: d.D, cs: 1}
	t.dout, t.x, t.y, t.gate, t.values = dout, x, y, gate, values
	t.factors = growRows(t.factors, p, 2*d.N)
	p.Do(d.Tokens, t)
}

type deltaWriteGradTask[T Float] struct {
	rows, sum                combination[T]
	dots                     dots[T]
	grads                    DeltaWriteGrads[T]
	dout, x, y, gate, values []T
	factors                  [][]T // a and s, later the factors of dout and x in dy; one slice for each worker
	d                        DeltaWriteParams
	path                     path
}

func (t *deltaWriteGradTask[T]) Part(worker, lo, hi int) {
	rows, sum, dots, d := t.rows, t.sum, t.dots, t.d
	ofOut, ofX := t.factors[worker][:d.N], t.factors[worker][d.N:]
	ahead := tokensAhead[T](d.N * d.D)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, d.N*d.D)
		prefetchToken(t.dout, i+ahead, d.N*d.D)
		dout, x, y := rowOf(t.dout, i, d.N*d.D), rowOf(t.x, i, d.N*d.D), rowOf(t.y, i, d.D)
		dots.run(ofOut, dout, y)
		dots.run(ofX, x, y)
		ofY := t.scalars(i, ofOut, ofX, d.inverseNorm(dotProduct(t.path, y, y)))
		if t.grads.Y != nil {
			dy := rowOf(t.grads.Y, i, d.D)
			sum.run(dy, ofOut, dout, ofX, x, kept(dy, t.grads.AddToY))
			addMultiple(t.path, dy, y, T(ofY))
		}
		rows.run(rowOf(t.grads.X, i, d.N*d.D), ofX, y, nil, nil, dout)
	}
}

// scalars computes token i's gradients of gate and values, given the dot products of y with the
// rows of dout (ofOut) and of x (ofX). It overwrites these with the factors of those rows in dy,
// and returns the factor of y in dy. The factors of x also multiply y in dX.
func (t *deltaWriteGradTask[T]) scalars(i int, ofOut, ofX []T, inverse float64) float64 {
	d, h := t.d, rowOf(t.values, i, t.d.N)
	beta, dbeta, along := 2*float64(t.gate[i]), 0.0, 0.0 // along = k . dk
	for c := range ofOut {
		a, s := float64(ofOut[c])*inverse, float64(ofX[c])*inverse
		rest := d.Scale*float64(h[c]) - s
		dbeta += a * rest
		along += beta * (rest*a - a*s)
		ofOut[c], ofX[c] = T(beta*rest*inverse), T(-beta*a*inverse)
		if t.grads.Values != nil {
			store(&t.grads.Values[i*d.N+c], d.Scale*beta*a, t.grads.AddToValues)
		}
	}
	if t.grads.Gate != nil {
		store(&t.grads.Gate[i], 2*dbeta, t.grads.AddToGate)
	}
	return -along * inverse * inverse
}

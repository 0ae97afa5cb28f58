package kernel

import "math"

type normLinearForward[T Float] struct {
	z, x, mean, rstd []T
	d                NormLinearParams
	path             path
	weights          *foldedWeights[T]
	workers          []normLinearRows[T]
}

// normLinearRows is one worker's memory for the rows that it works on.
type normLinearRows[T Float] struct {
	squares  []float64 // [rows], sums of x^2
	products []T       // [rows, k or k+1], x W^T, and for LayerNorm the sums of x
	centred  []T       // [width]
}

// forwardRows is the number of rows that go through the products together: a tile of the widest
// micro-kernels.
const forwardRows = 4

func (t *normLinearForward[T]) Part(worker, lo, hi int) {
	d, w := t.d, &t.workers[worker]
	columns := d.columns()
	w.squares, w.products, w.centred = grow(w.squares, forwardRows), grow(w.products, forwardRows*columns), grow(w.centred, d.Width)
	for ; lo < hi; lo += forwardRows {
		rows := min(forwardRows, hi-lo)
		x := t.x[lo*d.Width : (lo+rows)*d.Width] // [rows, width]
		for i := range rows {
			w.squares[i] = squaresAbout(t.path, x[i*d.Width:(i+1)*d.Width], 0, 0)
		}
		t.multiply(w.products, x, t.x[(lo+rows)*d.Width:])
		for i := range rows {
			t.finish(w, lo+i, x[i*d.Width:(i+1)*d.Width], w.products[i*columns:(i+1)*columns], w.squares[i])
		}
	}
}

// multiply computes products = x W^T for the rows x, a few columns at a time, and each time starts
// loading a part of the next rows.
func (t *normLinearForward[T]) multiply(products, x, next []T) {
	width, columns := t.d.Width, t.d.columns()
	part := len(x) * dotCols / columns
	product := dots[T]{path: t.path, m: len(x) / width, k: width, cs: columns}
	for j := 0; j < columns; j += dotCols {
		ahead := min(part, len(next))
		prefetch(next[:ahead])
		next = next[ahead:]
		product.n = min(dotCols, columns-j)
		product.run(products[j:], x, t.weights.transposed[j*width:])
	}
}

// finish computes z of row i, x, from x W^T and its sum of squares.
func (t *normLinearForward[T]) finish(w *normLinearRows[T], i int, x, products []T, squares float64) {
	k := t.d.K
	z := t.z[i*k : (i+1)*k]
	s := t.statistics(products, squares)
	s.save(t.mean, t.rstd, i)
	shift := s.mean * s.rstd
	if shift >= -1 && shift <= 1 {
		for j, sum := range t.weights.sums {
			z[j] = s.rstd*products[j] - shift*sum
		}
		return
	}
	s = rowStatistics(t.path, x, t.d.RMS, t.d.Eps)
	s.save(t.mean, t.rstd, i)
	s.normalize(t.path, w.centred, x)
	product := dots[T]{path: t.path, m: 1, n: k, k: t.d.Width, cs: k}
	product.run(z, w.centred, t.weights.transposed)
}

// statistics returns the statistics of a row whose mean is not larger than its deviation.
func (t *normLinearForward[T]) statistics(products []T, squares float64) statistics[T] {
	mean, width := 0.0, float64(t.d.Width)
	if !t.d.RMS {
		mean = float64(products[t.d.K]) / width
	}
	variance := max(0, squares/width-mean*mean)
	return statistics[T]{mean: T(mean), rstd: T(1 / math.Sqrt(variance+t.d.Eps))}
}

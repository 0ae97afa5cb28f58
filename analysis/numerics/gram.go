package numerics

import (
	"gonum.org/v1/gonum/mat"
)

// gramBlock is the number of rows of a Gram matrix that are computed at a time.
const gramBlock = 192

// GramOfRows returns w w^T [n, n] for w [n, m].
func GramOfRows(w *mat.Dense) *mat.Dense {
	n, m := w.Dims()
	return gram(n, func(from, to int) mat.Matrix { return w.Slice(from, to, 0, m) })
}

// GramOfColumns returns w^T w [m, m] for w [n, m].
func GramOfColumns(w *mat.Dense) *mat.Dense {
	n, m := w.Dims()
	return gram(m, func(from, to int) mat.Matrix { return w.Slice(0, n, from, to).T() })
}

// gram returns P P^T [n, n], where rows returns the rows of P from one index up to another. It
// computes the upper triangle by blocks, then mirrors it.
func gram(n int, rows func(from, to int) mat.Matrix) *mat.Dense {
	g := mat.NewDense(n, n, nil)
	for from := 0; from < n; from += gramBlock {
		to := min(from+gramBlock, n)
		g.Slice(from, to, from, n).(*mat.Dense).Copy(Mul(rows(from, to), rows(from, n).T()))
	}
	for i := range n {
		for j := range i {
			g.Set(i, j, g.At(j, i))
		}
	}
	return g
}

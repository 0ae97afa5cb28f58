package mixing

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// products holds the product of the A_res so far, a matrix for each token.
type products struct{ of []*mat.Dense }

// newProducts returns empty products: nil stands for the identity.
func newProducts(tokens int) *products { return &products{make([]*mat.Dense, tokens)} }

// carry multiplies the products by an A_res and measures it and them.
func (p *products) carry(at place) *Carry {
	var c Carry
	n := at.Rows
	for t, before := range p.of {
		a := mat.NewDense(n, n, at.matrix(t))
		product := a
		if before != nil {
			product = &mat.Dense{}
			product.Mul(a, before)
		}
		p.of[t] = product
		c.OffDiagonal += offDiagonal(a)
		c.RowGain += mat.Norm(a, math.Inf(1))
		c.ColumnGain += mat.Norm(a, 1)
		c.CompositeRows += mat.Norm(product, math.Inf(1))
		c.CompositeColumns += mat.Norm(product, 1)
		c.CompositeDiagonal += mat.Trace(product) / float64(n)
	}
	for _, sum := range []*float64{&c.OffDiagonal, &c.RowGain, &c.ColumnGain, &c.CompositeRows, &c.CompositeColumns, &c.CompositeDiagonal} {
		*sum /= float64(len(p.of))
	}
	return &c
}

// offDiagonal returns the sum of |entries| off the diagonal, averaged over rows.
func offDiagonal(a *mat.Dense) float64 {
	n, sum := a.RawMatrix().Rows, 0.0
	for i := range n {
		for j, v := range a.RawRowView(i) {
			if i != j {
				sum += math.Abs(v) / float64(n)
			}
		}
	}
	return sum
}

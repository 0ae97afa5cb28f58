package mixing

import "math"

// products are those of the A_res so far, a matrix a token.
type products struct {
	tokens int
	of     []float64 // [T, n, n]; nil before the first
}

func newProducts(tokens int) *products { return &products{tokens: tokens} }

// carry measures an A_res, and the product with it.
func (p *products) carry(at place) *Carry {
	n := at.Rows
	if p.of == nil {
		p.of = make([]float64, p.tokens*n*n)
		for i := range p.tokens * n {
			p.of[i*n+i%n] = 1
		}
	}
	sums := make([]float64, 6)
	for t := range p.tokens {
		a := at.matrix(t)
		product := p.of[t*n*n:][:n*n]
		copy(product, multiply(a, product, n))
		row, column, off := gains(a, n)
		rows, columns, _ := gains(product, n)
		diagonal := 0.0
		for i := range n {
			diagonal += product[i*n+i] / float64(n)
		}
		for i, v := range []float64{off, row, column, rows, columns, diagonal} {
			sums[i] += v
		}
	}
	for i := range sums {
		sums[i] /= float64(p.tokens)
	}
	return &Carry{sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]}
}

// multiply is a b, of n x n matrices.
func multiply(a, b []float64, n int) []float64 {
	c := make([]float64, n*n)
	for i := range n {
		for k := range n {
			for j := range n {
				c[i*n+j] += a[i*n+k] * b[k*n+j]
			}
		}
	}
	return c
}

// gains are the largest sums of |entries| of a row and of a column, and the mean of such sums off the diagonal.
func gains(a []float64, n int) (row, column, offDiagonal float64) {
	for i := range n {
		r, c := 0.0, 0.0
		for j := range n {
			r += math.Abs(a[i*n+j])
			c += math.Abs(a[j*n+i])
			if i != j {
				offDiagonal += math.Abs(a[i*n+j]) / float64(n)
			}
		}
		row, column = max(row, r), max(column, c)
	}
	return row, column, offDiagonal
}

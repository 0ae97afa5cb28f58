// Package matmul multiplies float64 matrices, several times as fast as gonum's BLAS on processors
// with AVX2.
package matmul

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// Sizes of a tile of C, and of the blocks into which products are divided: a panel of B, blockK x
// tileColumns, is read from the first-level cache, a block of A from the second.
const (
	tileRows    = 4
	tileColumns = 12
	blockM      = 96
	blockK      = 256
	blockN      = 1536
)

// Thresholds between the ways to divide the work.
const (
	worthPacking  = 1 << 14 // fewer multiplications are as fast by gonum's product
	worthDividing = 1 << 19 // multiplications for which another goroutine pays off
)

// Mul returns a b. The result depends neither on the number of cores nor on the operands' layout in
// memory. Like mat.Dense.Mul it panics if the sizes do not match.
func Mul(a, b mat.Matrix) *mat.Dense {
	m, k := a.Dims()
	rows, n := b.Dims()
	if !fast || k != rows || m*n*k < worthPacking {
		var c mat.Dense
		c.Mul(a, b)
		return &c
	}
	c := mat.NewDense(m, n, nil)
	p := product{operandOf(a), operandOf(b), c.RawMatrix().Data, n, m, n, k}
	p.divide()
	return c
}

// operand is a matrix with the distances between its rows and columns in memory.
type operand struct {
	data    []float64
	row, by int
}

func operandOf(m mat.Matrix) operand {
	switch m := m.(type) {
	case mat.Transpose:
		o := operandOf(m.Matrix)
		return operand{o.data, o.by, o.row}
	case mat.RawMatrixer:
		raw := m.RawMatrix()
		return operand{raw.Data, raw.Stride, 1}
	}
	raw := mat.DenseCopyOf(m).RawMatrix()
	return operand{raw.Data, raw.Stride, 1}
}

func (o operand) from(row, column int) operand {
	return operand{o.data[row*o.row+column*o.by:], o.row, o.by}
}

// product computes C [m, n] += A [m, k] B [k, n].
type product struct {
	a, b    operand
	c       []float64
	stride  int
	m, n, k int
}

// part returns the product of rows [i, i+m) and columns [j, j+n) of C.
func (p product) part(i, j, m, n int) product {
	p.a, p.b, p.c = p.a.from(i, 0), p.b.from(0, j), p.c[i*p.stride+j:]
	p.m, p.n = m, n
	return p
}

// divide gives each core a share of C's longer side, in whole tiles.
func (p product) divide() {
	parts := min(runtime.GOMAXPROCS(0), max(1, p.m*p.n*p.k/worthDividing))
	var work sync.WaitGroup
	rows, columns := p.m, p.n
	if p.m > p.n {
		rows = shareOf(p.m, parts, tileRows)
	} else {
		columns = shareOf(p.n, parts, tileColumns)
	}
	for i := 0; i < p.m; i += rows {
		for j := 0; j < p.n; j += columns {
			work.Go(p.part(i, j, min(rows, p.m-i), min(columns, p.n-j)).run)
		}
	}
	work.Wait()
}

// shareOf returns total/parts, rounded up to a multiple of step.
func shareOf(total, parts, step int) int {
	each := (total + parts - 1) / parts
	return (each + step - 1) / step * step
}

// run computes the product block by block.
func (p product) run() {
	k, n := min(blockK, p.k), min(blockN, p.n)
	spaceA := make([]float64, (min(blockM, p.m)+tileRows)*k)
	spaceB := make([]float64, (n+tileColumns)*k)
	for j := 0; j < p.n; j += blockN {
		for q := 0; q < p.k; q += blockK {
			x := block{k: min(blockK, p.k-q), n: min(blockN, p.n-j), a: spaceA, b: spaceB, stride: p.stride}
			pack(x.b, p.b.from(q, j), x.k, x.n, tileColumns)
			for i := 0; i < p.m; i += blockM {
				x.m, x.c = min(blockM, p.m-i), p.c[i*p.stride+j:]
				a := p.a.from(i, q)
				pack(x.a, operand{a.data, a.by, a.row}, x.k, x.m, tileRows)
				x.run()
			}
		}
	}
}

// pack copies the columns of o [k, n] into panels [k, width], one after another, and fills the last
// panel up with zeros.
func pack(to []float64, o operand, k, n, width int) {
	for j := 0; j < n; j += width {
		panel, columns := to[j*k:(j+width)*k], min(width, n-j)
		if columns < width {
			clear(panel)
		}
		if o.by == 1 {
			for p := range k {
				copy(panel[p*width:], o.data[p*o.row+j:][:columns])
			}
			continue
		}
		for c := range columns {
			column, at := o.data[(j+c)*o.by:], 0
			for p := range k {
				panel[p*width+c] = column[at]
				at += o.row
			}
		}
	}
}

// block is a product of packed operands.
type block struct {
	a, b, c         []float64
	m, n, k, stride int
}

func (x *block) run() {
	for j := 0; j < x.n; j += tileColumns {
		for i := 0; i < x.m; i += tileRows {
			a, b := &x.a[i*x.k], &x.b[j*x.k]
			if i+tileRows <= x.m && j+tileColumns <= x.n {
				tile(x.k, a, b, &x.c[i*x.stride+j], x.stride)
				continue
			}
			x.edge(a, b, i, j)
		}
	}
}

// edge computes a tile that lies partly outside C.
func (x *block) edge(a, b *float64, i, j int) {
	var whole [tileRows * tileColumns]float64
	tile(x.k, a, b, &whole[0], tileColumns)
	for r := range min(tileRows, x.m-i) {
		row := x.c[(i+r)*x.stride+j:]
		for c := range min(tileColumns, x.n-j) {
			row[c] += whole[r*tileColumns+c]
		}
	}
}

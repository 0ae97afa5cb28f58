package numerics

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"
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

// Mul returns the product of two or three matrices; it multiplies three in the order that takes
// fewer operations. Mul is several times as fast as gonum's BLAS on processors with AVX2. The
// result depends neither on the number of cores nor on the operands' layout in memory. Like
// mat.Dense.Mul it panics if the sizes do not match.
func Mul(a, b mat.Matrix, more ...mat.Matrix) *mat.Dense {
	m, k := a.Dims()
	rows, n := b.Dims()
	if len(more) > 0 {
		if _, p := more[0].Dims(); m*n*(k+p) <= k*p*(m+n) {
			return Mul(Mul(a, b), more[0])
		}
		return Mul(a, Mul(b, more[0]))
	}
	if !fast || k != rows || m*n*k < worthPacking {
		var c mat.Dense
		c.Mul(a, b)
		return &c
	}
	p := product{operandOf(a), operandOf(b), mat.NewDense(m, n, nil), k}
	p.divide()
	return p.c
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
	a, b operand
	c    *mat.Dense
	k    int
}

// divide gives each core a share of C's longer side, in whole tiles.
func (p product) divide() {
	m, n := p.c.Dims()
	parts := min(runtime.GOMAXPROCS(0), max(1, m*n*p.k/worthDividing))
	var work sync.WaitGroup
	rows, columns := m, n
	if m > n {
		rows = shareOf(m, parts, tileRows)
	} else {
		columns = shareOf(n, parts, tileColumns)
	}
	for i := 0; i < m; i += rows {
		for j := 0; j < n; j += columns {
			work.Go(func() { p.run(i, min(i+rows, m), j, min(j+columns, n)) })
		}
	}
	work.Wait()
}

// shareOf returns total/parts, rounded up to a multiple of step.
func shareOf(total, parts, step int) int {
	each := (total + parts - 1) / parts
	return (each + step - 1) / step * step
}

// run computes rows [top, bottom) and columns [left, right) of C block by block.
func (p product) run(top, bottom, left, right int) {
	k, n := min(blockK, p.k), min(blockN, right-left)
	spaceA := make([]float64, (min(blockM, bottom-top)+tileRows)*k)
	spaceB := make([]float64, (n+tileColumns)*k)
	for j := left; j < right; j += blockN {
		n := min(blockN, right-j)
		for q := 0; q < p.k; q += blockK {
			k := min(blockK, p.k-q)
			pack(spaceB, p.b.from(q, j), k, n, tileColumns)
			for i := top; i < bottom; i += blockM {
				m, a := min(blockM, bottom-i), p.a.from(i, q)
				pack(spaceA, operand{a.data, a.by, a.row}, k, m, tileRows)
				p.block(spaceA, spaceB, k, i, i+m, j, j+n)
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

// block adds the product of packed operands to rows [top, bottom) and columns [left, right) of C.
func (p product) block(a, b []float64, k, top, bottom, left, right int) {
	c := p.c.RawMatrix()
	for j := left; j < right; j += tileColumns {
		for i := top; i < bottom; i += tileRows {
			a, b, at := &a[(i-top)*k], &b[(j-left)*k], i*c.Stride+j
			rows, columns := min(tileRows, bottom-i), min(tileColumns, right-j)
			if rows == tileRows && columns == tileColumns {
				tile(k, a, b, &c.Data[at], c.Stride)
				continue
			}
			var whole [tileRows * tileColumns]float64 // a tile that lies partly outside
			tile(k, a, b, &whole[0], tileColumns)
			for r := range rows {
				floats.Add(c.Data[at+r*c.Stride:][:columns], whole[r*tileColumns:][:columns])
			}
		}
	}
}

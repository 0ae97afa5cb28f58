package kernel

// gemmTask splits a product over a Pool: C is divided into rows x columns parts, or k
// into slices whose products are added.
type gemmTask[T Float] struct {
	product[T]
	kernels  *microkernels
	pool     *Pool
	division division
	partial  []T // the slices' products, [slices, m, n]
}

// division says into how many parts a product is divided; one of slices and
// rows*columns is 1.
type division struct{ rows, columns, slices int }

func (d division) parts() int { return d.rows * d.columns * d.slices }

// worthDividing is the number of multiplications that pays for waking the workers, for
// the fast micro-kernels and for others.
const (
	worthDividing         = 1 << 17
	worthDividingPortable = 1 << 13
)

// divisionCost is what moving an element of A, B or C costs compared with its products, in
// multiplications of the fast micro-kernels.
const divisionCost = 16

// maxPartial limits the memory for products of slices, in elements.
const maxPartial = 1 << 18

// divide chooses the division in which the busiest of the threads has least to do. k is cut only
// where A is transposed, as in a weight's gradient, whose k are the tokens: of a forward product
// each element is summed in one order, however many tokens there are.
func (q *product[T]) divide(threads int, kernels *microkernels) division {
	best := division{1, 1, 1}
	worth := worthDividing
	if kernels.path == portable {
		worth = worthDividingPortable
	}
	m, n, k := float64(q.m), float64(q.n), float64(q.k)
	if threads == 1 || m*n*k < float64(worth) {
		return best
	}
	work := func(m, n float64) float64 { return (m*n + divisionCost*(m+n)) * k }
	panels := (q.n + kernels.width() - 1) / kernels.width()
	least := work(m, n)
	for columns := 1; columns <= min(threads, panels); columns++ {
		rows := min(threads/columns, q.m)
		widest := min(q.n, (panels+columns-1)/columns*kernels.width())
		w := work(float64((q.m+rows-1)/rows), float64(widest))
		if w < least {
			least, best = w, division{rows, columns, 1}
		}
	}
	slices := float64(threads)
	if q.ta && m*n*slices <= maxPartial && work(m, n)/slices+divisionCost*m*n*slices < least {
		best = division{1, 1, threads}
	}
	return best
}

func (t *gemmTask[T]) run(p *Pool, kernels *microkernels, own *arena) {
	t.division = t.divide(p.Threads(), kernels)
	if t.division.parts() == 1 {
		t.product.run(kernels, p.arena(0, own))
		return
	}
	t.kernels, t.pool = kernels, p
	if t.division.slices > 1 {
		t.partial = grow(t.partial, t.division.slices*t.m*t.n)
	}
	p.Do(t.division.parts(), t)
	if t.division.slices > 1 {
		t.addSlices()
		t.finished(0, 0, t.m, t.n)
	}
	t.pool = nil
}

// Part computes the parts [lo, hi) of the division.
func (t *gemmTask[T]) Part(worker, lo, hi int) {
	for part := lo; part < hi; part++ {
		var q product[T]
		if t.division.slices > 1 {
			q = t.slice(part)
		} else {
			q = t.cell(part/t.division.columns, part%t.division.columns)
		}
		q.run(t.kernels, &t.pool.arenas[worker])
	}
}

// cell is the part of the product in a row and column of the division. Columns are
// divided between panels.
func (t *gemmTask[T]) cell(row, column int) product[T] {
	width, d := t.kernels.width(), t.division
	panels := (t.n + width - 1) / width
	return t.part(row*t.m/d.rows, (row+1)*t.m/d.rows,
		column*panels/d.columns*width, min(t.n, (column+1)*panels/d.columns*width))
}

// slice is the product of the s-th slice of k, to be written to its place in partial.
func (t *gemmTask[T]) slice(s int) product[T] {
	first, end := s*t.k/t.division.slices, (s+1)*t.k/t.division.slices
	q := t.product
	q.k = end - first
	q.a = q.a[choose(q.ta, first*q.lda, first):]
	q.b = q.b[choose(q.tb, first, first*q.ldb):]
	q.alpha, q.beta, q.epilogue = 1, 0, nil
	q.c, q.ldc = t.partial[s*q.m*q.n:(s+1)*q.m*q.n], q.n
	return q
}

// addSlices does C = alpha * (sum of the slices, in order) + beta C.
func (t *gemmTask[T]) addSlices() {
	size := t.m * t.n
	for i := range t.m {
		row := t.c[i*t.ldc : i*t.ldc+t.n]
		for j := range row {
			var sum T
			for s := i*t.n + j; s < len(t.partial); s += size {
				sum += t.partial[s]
			}
			if t.beta == 0 {
				row[j] = t.alpha * sum
			} else {
				row[j] = t.alpha*sum + t.beta*row[j]
			}
		}
	}
}

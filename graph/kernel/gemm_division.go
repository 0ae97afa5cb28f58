package kernel

// gemmTask splits a product among the workers of a Pool: C is divided into rows x columns parts. k
// is not divided, so that each element is summed in the same order with any number of threads.
type gemmTask[T Float] struct {
	product[T]
	kernels  *microkernels
	pool     *Pool
	division division
}

// division is the number of parts into which a product is divided, in each direction.
type division struct{ rows, columns int }

func (d division) parts() int { return d.rows * d.columns }

// worthDividing is the number of multiplications from which waking the workers pays, for the fast
// micro-kernels, for AMX and for the others.
const (
	worthDividing         = 1 << 17
	worthDividingTiles    = 1 << 20
	worthDividingPortable = 1 << 13
)

// divisionCost is the cost of moving an element of A, B or C, in multiplications of the fast
// micro-kernels, and of AMX.
const (
	divisionCost      = 16
	divisionCostTiles = 128
)

// divide chooses the division in which the busiest thread has least to do.
func (q *product[T]) divide(threads int, kernels *microkernels) division {
	best := division{1, 1}
	worth, cost := worthDividing, float64(divisionCost)
	switch {
	case kernels.tiles:
		worth, cost = worthDividingTiles, divisionCostTiles
	case kernels.path == portable:
		worth = worthDividingPortable
	}
	m, n, k := float64(q.m), float64(q.n), float64(q.k)
	if threads == 1 || m*n*k < float64(worth) {
		return best
	}
	work := func(m, n float64) float64 { return (m*n + cost*(m+n)) * k }
	step := q.step(kernels)
	panels := (q.n + step - 1) / step
	rowStep := kernels.rowStep()
	groups := (q.m + rowStep - 1) / rowStep
	least := work(m, n)
	for columns := 1; columns <= min(threads, panels); columns++ {
		rows := min(threads/columns, groups)
		widest := min(q.n, (panels+columns-1)/columns*step)
		w := work(float64(min(q.m, (groups+rows-1)/rows*rowStep)), float64(widest))
		if w < least {
			least, best = w, division{rows, columns}
		}
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
	p.Do(t.division.parts(), t)
	t.pool = nil
}

// Part computes the parts [lo, hi) of the division.
func (t *gemmTask[T]) Part(worker, lo, hi int) {
	for part := lo; part < hi; part++ {
		q := t.cell(part/t.division.columns, part%t.division.columns)
		q.run(t.kernels, &t.pool.arenas[worker])
	}
}

// cell returns the part of the product in a row and column of the division. Columns are divided
// between panels.
func (t *gemmTask[T]) cell(row, column int) product[T] {
	width, d := t.step(t.kernels), t.division
	panels := (t.n + width - 1) / width
	return t.part(row*t.m/d.rows, (row+1)*t.m/d.rows,
		column*panels/d.columns*width, min(t.n, (column+1)*panels/d.columns*width))
}

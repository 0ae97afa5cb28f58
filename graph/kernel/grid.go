package kernel

// gemmTask splits a product over a Pool.
type gemmTask[T Float] struct {
	product[T]
	kernels *microkernels
	pool    *Pool
	own     *arena
	rows    int // parts that the rows of C are divided into
	columns int // parts that its columns are divided into
}

func (t *gemmTask[T]) run(p *Pool, kernels *microkernels, own *arena) {
	t.kernels, t.pool, t.own = kernels, p, own
	threads := p.Threads()
	t.rows, t.columns = t.grid(threads)
	if t.rows*t.columns == 1 {
		t.product.run(kernels, p.arena(0, own))
	} else {
		p.Do(threads, t)
	}
	t.pool, t.own = nil, nil
}

// grid divides C over threads so that the busiest has least to do. A part's work is its
// products plus what packing its share of A and B costs.
func (t *gemmTask[T]) grid(threads int) (rows, columns int) {
	rows, columns = 1, 1
	if threads == 1 || t.m*t.n*t.k < 1<<17 {
		return
	}
	width := t.kernels.width()
	panels := (t.n + width - 1) / width
	best := 0
	for c := 1; c <= threads; c++ {
		r := threads / c
		m, n := (t.m+r-1)/r, (panels+c-1)/c*width
		cost := m*n + 16*(m+n)
		if best == 0 || cost < best {
			best, rows, columns = cost, r, c
		}
	}
	return
}

// Part computes the parts [lo, hi) of the grid.
func (t *gemmTask[T]) Part(worker, lo, hi int) {
	width := t.kernels.width()
	panels := (t.n + width - 1) / width
	for part := lo; part < min(hi, t.rows*t.columns); part++ {
		r, c := part/t.columns, part%t.columns
		q := t.product.part(r*t.m/t.rows, (r+1)*t.m/t.rows,
			min(t.n, c*panels/t.columns*width), min(t.n, (c+1)*panels/t.columns*width))
		q.run(t.kernels, t.pool.arena(worker, t.own))
	}
}

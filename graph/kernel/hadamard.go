package kernel

// Hadamard multiplies each row of a matrix, element by element, by one vector: a gain for each
// feature, as in LayerScale (Touvron et al. 2021, arXiv 2103.17239, section 2).
type Hadamard[T Float] struct {
	forward  hadamardTask[T]
	backward hadamardGradTask[T]
	path     path
}

// Forward computes y_i = x_i ⊙ gain, with x and y [rows, width] and gain [width]. y may be x.
func (k *Hadamard[T]) Forward(p *Pool, y, x, gain []T, rows int) { k.Add(p, y, nil, x, gain, rows) }

// Add computes y_i = x_i + gain ⊙ z_i, with x, y and z [rows, width] and gain [width]. A nil x
// means zero; y may be x.
func (k *Hadamard[T]) Add(p *Pool, y, x, z, gain []T, rows int) {
	k.forward = hadamardTask[T]{y: y, x: x, z: z, gain: gain, path: pathOf[T](k.path)}
	p.Do(rows, &k.forward)
}

// Backward computes from dy, the gradient of y,
//
//	dx_i = dy_i ⊙ gain + addend_i,  dgain (+)= sum over i of dy_i ⊙ x_i
//
// A nil addend means zero; dgain may be nil if it is not wanted, and accumulate adds to what it
// holds. The rows are summed in order, so the result does not depend on the number of threads. dx
// may be dy or addend.
func (k *Hadamard[T]) Backward(p *Pool, dx, addend, dgain, dy, x, gain []T, rows int, accumulate bool) {
	t := &k.backward
	t.dx, t.addend, t.dgain, t.dy, t.x, t.gain = dx, addend, dgain, dy, x, gain
	t.rows, t.accumulate, t.path = rows, accumulate, pathOf[T](k.path)
	t.sums, t.products = growKept(t.sums, p.Threads()), growRows(t.products, p, len(gain))
	p.Do(columnGroups(len(gain)), t)
}

type hadamardTask[T Float] struct {
	y, x, z, gain []T
	path          path
}

func (t *hadamardTask[T]) Part(_, lo, hi int) {
	width := len(t.gain)
	for i := lo; i < hi; i++ {
		y, z := rowOf(t.y, i, width), rowOf(t.z, i, width)
		if t.x == nil {
			multiply(t.path, y, z, t.gain)
			continue
		}
		copyOver(y, rowOf(t.x, i, width))
		addProducts(t.path, y, z, t.gain)
	}
}

type hadamardGradTask[T Float] struct {
	dx, dgain, dy, x, gain, addend []T
	rows                           int
	accumulate                     bool
	sums                           []blockedSum[T] // of dgain, one for each worker
	products                       [][]T           // a row of dy ⊙ gain for each worker
	path                           path
}

// Part computes groups of columns.
func (t *hadamardGradTask[T]) Part(worker, lo, hi int) {
	width := len(t.gain)
	first, end := groupColumns(lo, hi, width)
	if first == end {
		return
	}
	sum := &t.sums[worker]
	sum.reset(t.path, end-first)
	for i := range t.rows {
		from, to := i*width+first, i*width+end
		if t.dgain != nil {
			addProducts(t.path, sum.block, t.dy[from:to], t.x[from:to])
			sum.added()
		}
		t.row(t.products[worker][:end-first], from, to, t.gain[first:end])
	}
	if t.dgain != nil {
		sum.flush()
		sum.store(t.dgain[first:end], t.accumulate)
	}
}

// row computes the elements [from, to) of dx, after dy's elements have been read for the last time.
func (t *hadamardGradTask[T]) row(product []T, from, to int, gain []T) {
	dx, dy := t.dx[from:to], t.dy[from:to]
	if t.addend == nil {
		multiply(t.path, dx, dy, gain)
		return
	}
	multiply(t.path, product, dy, gain)
	setSum(t.path, dx, t.addend[from:to], product)
}

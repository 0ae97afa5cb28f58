package kernel

// Concat puts matrices side by side: row i of the result consists of row i of each input.
type Concat[T Float] struct{ task concatTask[T] }

// Run computes out [rows, sum of widths] from inputs [rows, width of each]. out must not be one of
// the inputs.
func (k *Concat[T]) Run(p *Pool, out []T, inputs [][]T, rows int) {
	k.task = concatTask[T]{out: out, inputs: inputs, rows: rows}
	p.Do(rows, &k.task)
}

type concatTask[T Float] struct {
	out    []T
	inputs [][]T
	rows   int
}

func (t *concatTask[T]) Part(_, lo, hi int) {
	at := lo * (len(t.out) / t.rows)
	for i := lo; i < hi; i++ {
		for _, x := range t.inputs {
			width := len(x) / t.rows
			at += copy(t.out[at:], x[i*width:(i+1)*width])
		}
	}
}

// Columns copies some columns out of a matrix, and adds columns to one.
type Columns[T Float] struct {
	task columnsTask[T]
	path path
}

// Take copies the columns of x [rows, width], beginning with column from, into y [rows, fewer].
func (k *Columns[T]) Take(p *Pool, y, x []T, rows, from int) {
	k.task = columnsTask[T]{x: x, y: y, rows: rows, from: from}
	p.Do(rows, &k.task)
}

// Put computes x [rows, width] = addend, and adds y [rows, fewer] to its columns, beginning with
// column from. A nil addend means zero; x may be addend.
func (k *Columns[T]) Put(p *Pool, x, addend, y []T, rows, from int) {
	k.task = columnsTask[T]{x: x, addend: addend, y: y, rows: rows, from: from, put: true, path: pathOf[T](k.path)}
	p.Do(rows, &k.task)
}

type columnsTask[T Float] struct {
	x, addend, y []T
	rows, from   int
	put          bool
	path         path
}

func (t *columnsTask[T]) Part(_, lo, hi int) {
	width, columns := len(t.x)/t.rows, len(t.y)/t.rows
	for i := lo; i < hi; i++ {
		row, y := rowOf(t.x, i, width), rowOf(t.y, i, columns)
		if !t.put {
			copy(y, row[t.from:])
			continue
		}
		copyOver(row, rowOf(t.addend, i, width))
		if t.addend == nil {
			copy(row[t.from:], y)
		} else {
			addTo(t.path, row[t.from:t.from+columns], y)
		}
	}
}

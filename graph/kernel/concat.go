package kernel

// Concat puts matrices side by side: row i of the result is their rows i one after
// another.
type Concat[T Float] struct{ task concatTask[T] }

// Run computes out [rows, sum of widths] from inputs [rows, width each]. out is none of
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

// Columns takes some columns out of a matrix, and adds them to one.
type Columns[T Float] struct {
	take takeColumns[T]
	put  putColumns[T]
	path path
}

// Take copies the columns of x [rows, width] from number from on into y [rows, fewer].
func (k *Columns[T]) Take(p *Pool, y, x []T, rows, from int) {
	k.take = takeColumns[T]{y: y, x: x, width: len(x) / rows, columns: len(y) / rows, from: from}
	p.Do(rows, &k.take)
}

// Put computes x [rows, width] = addend, and adds y [rows, fewer] to its columns from
// number from on. A nil addend is zero; x may be addend.
func (k *Columns[T]) Put(p *Pool, x, addend, y []T, rows, from int) {
	k.put = putColumns[T]{x: x, addend: addend, y: y, width: len(x) / rows, columns: len(y) / rows, from: from, path: pathOf[T](k.path)}
	p.Do(rows, &k.put)
}

type takeColumns[T Float] struct {
	y, x                 []T
	width, columns, from int
}

func (t *takeColumns[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		copy(t.y[i*t.columns:(i+1)*t.columns], t.x[i*t.width+t.from:(i+1)*t.width])
	}
}

type putColumns[T Float] struct {
	x, addend, y         []T
	width, columns, from int
	path                 path
}

func (t *putColumns[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		row, y := t.x[i*t.width:(i+1)*t.width], t.y[i*t.columns:(i+1)*t.columns]
		if t.addend == nil {
			clear(row)
			copy(row[t.from:], y)
			continue
		}
		copy(row, t.addend[i*t.width:(i+1)*t.width])
		addTo(t.path, row[t.from:t.from+t.columns], y)
	}
}

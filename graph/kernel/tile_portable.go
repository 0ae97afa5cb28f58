package kernel

import "unsafe"

// runPortable computes a tile of at most portableKernels.rows x portableKernels.lanes.
func (t *tile[T]) runPortable(rows int, transposed bool) {
	full := t.cols == portableKernels.lanes && rows == portableKernels.rows[1]
	sizeA := (rows-1)*t.as + t.k
	if transposed {
		sizeA = (t.k-1)*t.as + rows
	}
	for i := range t.tiles {
		a, b := unsafe.Slice(at(t.a, i*t.an), sizeA), unsafe.Slice(at(t.b, i*t.bn), (t.k-1)*t.bs+t.cols)
		first := i * (rows*t.cs + t.cn)
		c := unsafe.Slice(at(t.c, first), (rows-1)*t.cs+t.cols)
		d := unsafe.Slice(at(t.d, first), len(c))
		switch {
		case full && transposed:
			t.store3x2(c, d, dot3x2transposed(a, t.as, b, t.bs, t.k))
		case full:
			t.store3x2(c, d, dot3x2(a, t.as, b, t.bs, t.k))
		default:
			t.edge(a, b, c, d, rows, transposed)
		}
	}
}

// store3x2 writes a full tile.
func (t *tile[T]) store3x2(c, d []T, s [6]T) {
	for i := range 3 {
		t.store(c, d, i*t.cs, s[2*i])
		t.store(c, d, i*t.cs+1, s[2*i+1])
	}
}

// store writes one element from its sum.
func (t *tile[T]) store(c, d []T, i int, sum T) {
	if t.beta == 0 {
		c[i] = t.alpha * sum
	} else {
		c[i] = t.alpha*sum + t.beta*d[i]
	}
}

// dot3x2 returns the sums of a 3 x 2 tile, row by row. The compiler keeps six accumulators in
// registers, but not more.
func dot3x2[T Float](a []T, as int, b []T, bs, k int) [6]T {
	var s00, s01, s10, s11, s20, s21 T
	a0, a1, a2 := a[:k], a[as:][:k], a[2*as:][:k]
	o := 0
	for p, x0 := range a0 {
		row := b[o : o+2]
		o += bs
		b0, b1 := row[0], row[1]
		s00 += x0 * b0
		s01 += x0 * b1
		x1 := a1[p]
		s10 += x1 * b0
		s11 += x1 * b1
		x2 := a2[p]
		s20 += x2 * b0
		s21 += x2 * b1
	}
	return [6]T{s00, s01, s10, s11, s20, s21}
}

// dot3x2transposed does the same for an a that is stored as [k, rows].
func dot3x2transposed[T Float](a []T, as int, b []T, bs, k int) [6]T {
	var s00, s01, s10, s11, s20, s21 T
	o, q := 0, 0
	for range k {
		row, column := b[o:o+2], a[q:q+3]
		o += bs
		q += as
		b0, b1 := row[0], row[1]
		s00 += column[0] * b0
		s01 += column[0] * b1
		s10 += column[1] * b0
		s11 += column[1] * b1
		s20 += column[2] * b0
		s21 += column[2] * b1
	}
	return [6]T{s00, s01, s10, s11, s20, s21}
}

// edge computes a tile that is not full, row by row.
func (t *tile[T]) edge(a, b, c, d []T, rows int, transposed bool) {
	row, step := t.as, 1
	if transposed {
		row, step = 1, t.as
	}
	for i := range rows {
		s0, s1 := dot1x2(a[i*row:], step, b, t.bs, t.k, t.cols-1)
		t.store(c, d, i*t.cs, s0)
		if t.cols == 2 {
			t.store(c, d, i*t.cs+1, s1)
		}
	}
}

// dot1x2 returns the sums of one row and the columns 0 and second of b.
func dot1x2[T Float](a []T, as int, b []T, bs, k, second int) (s0, s1 T) {
	x, y := 0, 0
	for range k {
		v := a[x]
		s0 += v * b[y]
		s1 += v * b[y+second]
		x += as
		y += bs
	}
	return s0, s1
}

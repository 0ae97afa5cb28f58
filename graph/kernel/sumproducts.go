package kernel

import "unsafe"

// sumProductsTile is one call of the micro-kernel out = addend + a_0 ⊙ b_0 + a_1 ⊙ b_1 + ... The
// assembly reads the float32 form by offset. out and addend, which may be nil, have n elements; a
// and b have at least one row of n elements, as and bs apart.
type sumProductsTile[T Float] struct {
	out, addend *T
	a           *T
	as          int
	b           *T
	bs          int
	rows, n     int
}

// float32 returns t itself, for a T that is float32.
func (t *sumProductsTile[T]) float32() *sumProductsTile[float32] {
	return (*sumProductsTile[float32])(unsafe.Pointer(t))
}

// sumProducts computes
//
//	out = addend + sum over i < rows of a[i] ⊙ b[i]
//
// element by element, in the order of i; row i of a (b) begins at i*as (i*bs). addend may be nil,
// or out, and b's first row may be out.
func sumProducts[T Float](p path, out, addend, a []T, as int, b []T, bs, rows int) {
	n := len(out)
	switch {
	case rows == 0 && addend == nil:
		clear(out)
	case rows == 0:
		copy(out, addend[:n])
	case p > portable && n > 0:
		t := sumProductsTile[T]{out: &out[0], a: &a[:(rows-1)*as+n][0], as: as, b: &b[:(rows-1)*bs+n][0], bs: bs, rows: rows, n: n}
		if addend != nil {
			t.addend = &addend[:n][0]
		}
		t.runFast(p)
	default:
		for j := range out {
			var sum T
			if addend != nil {
				sum = addend[j]
			}
			for i := range rows {
				sum += a[i*as+j] * b[i*bs+j]
			}
			out[j] = sum
		}
	}
}

package kernel

import "unsafe"

// Rows are the elements of a tensor that a kernel reads or writes a few at a time, stored as floats
// or as bfloat16. A worker widens bfloat16 to floats in its own scratch memory, which stays in its
// caches, and rounds results from there. So no kernel is written twice, and no tensor needs a
// float32 copy. The zero value means no tensor.
type Rows[T Float] struct {
	floats []T
	halves []BFloat16
}

// Of returns rows of floats; for nil, no tensor.
func Of[T Float](x []T) Rows[T] { return Rows[T]{floats: x} }

// OfBFloat16 returns rows of bfloat16, for kernels of float32.
func OfBFloat16[T Float](x []BFloat16) Rows[T] { return Rows[T]{halves: x} }

// none tells whether there is no tensor.
func (r Rows[T]) none() bool { return r.floats == nil && r.halves == nil }

// first returns the first n elements; for no tensor, no tensor. It panics if there are too few
// elements, as an index out of range does.
func (r Rows[T]) first(n int) Rows[T] {
	if r.halves != nil {
		return Rows[T]{halves: r.halves[:n]}
	}
	if r.floats != nil {
		r.floats = r.floats[:n]
	}
	return r
}

// len returns the number of elements.
func (r Rows[T]) len() int { return max(len(r.floats), len(r.halves)) }

// read returns the n elements from index at on: in place, or widened into the first n elements of
// room. For no tensor it returns nil.
func (r Rows[T]) read(p path, room []T, at, n int) []T {
	switch {
	case r.halves != nil:
		room = room[:n]
		widenBFloat16(p, singles(room), r.halves[at:at+n])
		return room
	case r.floats != nil:
		return r.floats[at : at+n]
	}
	return nil
}

// readTo copies elements from index at on into dst.
func (r Rows[T]) readTo(p path, dst []T, at int) {
	if r.halves != nil {
		widenBFloat16(p, singles(dst), r.halves[at:at+len(dst)])
		return
	}
	if len(dst) > 0 {
		copyOver(dst, r.floats[at:at+len(dst)])
	}
}

// readRows copies n rows of width elements, the first at index at and ld apart, into dst, one after
// another.
func (r Rows[T]) readRows(p path, dst []T, at, ld, width, n int) {
	if r.halves == nil {
		copyRows(dst, width, r.floats[at:], ld, width, n)
		return
	}
	for i := range n {
		r.readTo(p, dst[i*width:][:width], at+i*ld)
	}
}

// writeRows copies n rows of width elements, which follow one another in x, to the index at, ld
// apart.
func (r Rows[T]) writeRows(p path, x []T, at, ld, width, n int) {
	if r.halves == nil {
		copyRows(r.floats[at:], ld, x, width, width, n)
		return
	}
	for i := range n {
		r.write(p, x[i*width:][:width], at+i*ld)
	}
}

// target returns the memory in which a kernel computes the n elements from index at on: in place,
// or the first n elements of room, from which write rounds them. For no tensor it returns nil.
func (r Rows[T]) target(room []T, at, n int) []T {
	switch {
	case r.halves != nil:
		return room[:n]
	case r.floats != nil:
		return r.floats[at : at+n]
	}
	return nil
}

// write stores x as the elements from index at on; x may be what target returned.
func (r Rows[T]) write(p path, x []T, at int) {
	switch {
	case r.halves != nil:
		roundBFloat16(p, r.halves[at:at+len(x)], singles(x))
	case len(r.floats) > 0 && len(x) > 0:
		copyOver(r.floats[at:at+len(x)], x)
	}
}

// clear sets the n elements from index at on to zero.
func (r Rows[T]) clear(at, n int) {
	if r.halves != nil {
		clear(r.halves[at : at+n])
		return
	}
	clear(r.floats[at : at+n])
}

// tokensAhead returns tokensAhead for tokens of the given number of elements, as they are stored.
func (r Rows[T]) tokensAhead(elements int) int {
	if r.halves != nil {
		elements = (elements + 1) / 2
	}
	return tokensAhead[T](elements)
}

// prefetchTokens starts loading n tokens from token i on, those of them that there are, into the
// second-level cache, as the function prefetchToken does.
func (r *Rows[T]) prefetchTokens(i, n, elements int) {
	if p, size := r.tokens(i, n, elements); size > 0 {
		prefetchFar(p, size)
	}
}

// prefetchSmallTokens does the same, but into the first-level cache if a token is small, as the
// function prefetchSmallToken does.
func (r *Rows[T]) prefetchSmallTokens(i, n, elements int) {
	if p, size := r.tokens(i, n, elements); size > n*smallToken {
		prefetchFar(p, size)
	} else if size > 0 {
		prefetchNear(p, size)
	}
}

// tokens returns where n tokens from token i on lie, those of them that there are, and their size
// in bytes.
func (r *Rows[T]) tokens(i, n, elements int) (p unsafe.Pointer, size int) {
	first, last := i*elements, (i+n)*elements
	if r.halves != nil {
		if last = min(last, len(r.halves)); first < last {
			return unsafe.Pointer(&r.halves[first]), 2 * (last - first)
		}
		return nil, 0
	}
	if last = min(last, len(r.floats)); first < last {
		return unsafe.Pointer(&r.floats[first]), (last - first) * int(unsafe.Sizeof(T(0)))
	}
	return nil, 0
}

// prefetchRows starts loading n rows of width elements, the first at index at and ld apart.
func (r Rows[T]) prefetchRows(at, ld, width, n int) {
	end := at + (n-1)*ld + width
	if r.halves != nil {
		const size = int(unsafe.Sizeof(BFloat16(0)))
		prefetchRows(unsafe.Pointer(unsafe.SliceData(r.halves[at:end])), size*width, size*ld, n)
		return
	}
	size := int(unsafe.Sizeof(T(0)))
	prefetchRows(unsafe.Pointer(unsafe.SliceData(r.floats[at:end])), size*width, size*ld, n)
}

// singles returns the slice itself, for a T that is float32.
func singles[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// rooms is scratch memory for rows of bfloat16, a piece for each worker.
type rooms[T Float] [][]T

// ready gives each worker room for n elements, if any of the rows is stored as bfloat16.
func (s *rooms[T]) ready(p *Pool, n int, of ...Rows[T]) {
	for _, r := range of {
		if r.halves != nil {
			*s = growRows(*s, p, n)
			return
		}
	}
	*s = growKept(*s, p.Threads())
}

// part returns n elements of a worker's room from index at on; nil if it has no room.
func (s rooms[T]) part(worker, at, n int) []T {
	if room := s[worker]; len(room) >= at+n {
		return room[at : at+n]
	}
	return nil
}

package kernel

import "unsafe"

// Rows are the elements of a tensor that a kernel reads or writes a few at a time: floats in memory, or bfloat16. Those a
// worker widens to floats in scratch memory of its own, which stays in its caches, or rounds from there: no kernel is
// written twice, and no tensor has a float32 copy. The zero value is no tensor.
type Rows[T Float] struct {
	floats []T
	halves []BFloat16
}

// Of are rows of floats; of nil it is no tensor.
func Of[T Float](x []T) Rows[T] { return Rows[T]{floats: x} }

// OfBFloat16 are rows of bfloat16, for kernels of float32.
func OfBFloat16[T Float](x []BFloat16) Rows[T] { return Rows[T]{halves: x} }

// none tells whether there is no tensor.
func (r Rows[T]) none() bool { return r.floats == nil && r.halves == nil }

// first are the first n elements, or no tensor of none. Like an index out of range, too few elements panic.
func (r Rows[T]) first(n int) Rows[T] {
	if r.halves != nil {
		return Rows[T]{halves: r.halves[:n]}
	}
	if r.floats != nil {
		r.floats = r.floats[:n]
	}
	return r
}

// len is the number of elements.
func (r Rows[T]) len() int { return max(len(r.floats), len(r.halves)) }

// read returns the n elements from at on, nil of no tensor: where they lie, or widened into the first n elements of room.
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

// readTo copies the elements from at on into dst.
func (r Rows[T]) readTo(p path, dst []T, at int) {
	if r.halves != nil {
		widenBFloat16(p, singles(dst), r.halves[at:at+len(dst)])
		return
	}
	if len(dst) > 0 {
		copyOver(dst, r.floats[at:at+len(dst)])
	}
}

// target returns where a kernel computes the n elements from at on, nil of no tensor: where they lie, or the first n elements
// of room, from where write rounds them.
func (r Rows[T]) target(room []T, at, n int) []T {
	switch {
	case r.halves != nil:
		return room[:n]
	case r.floats != nil:
		return r.floats[at : at+n]
	}
	return nil
}

// write stores the elements from at on, of which the target may be x.
func (r Rows[T]) write(p path, x []T, at int) {
	switch {
	case r.halves != nil:
		roundBFloat16(p, r.halves[at:at+len(x)], singles(x))
	case len(r.floats) > 0 && len(x) > 0:
		copyOver(r.floats[at:at+len(x)], x)
	}
}

// clear sets the n elements from at on to zero.
func (r Rows[T]) clear(at, n int) {
	if r.halves != nil {
		clear(r.halves[at : at+n])
		return
	}
	clear(r.floats[at : at+n])
}

// tokensAhead is tokensAhead of the number of tokens of the given number of elements as they lie in memory.
func (r Rows[T]) tokensAhead(elements int) int {
	if r.halves != nil {
		elements = (elements + 1) / 2
	}
	return tokensAhead[T](elements)
}

// prefetchToken starts loading token i, as prefetchToken.
func (r Rows[T]) prefetchToken(i, elements int) {
	if r.halves == nil {
		prefetchToken(r.floats, i, elements)
	} else if first := i * elements; first < len(r.halves) {
		prefetchFar(unsafe.Pointer(&r.halves[first]), 2*elements)
	}
}

// prefetchSmallToken starts loading token i, as prefetchSmallToken.
func (r Rows[T]) prefetchSmallToken(i, elements int) {
	if r.halves == nil {
		prefetchSmallToken(r.floats, i, elements)
	} else if first := i * elements; first < len(r.halves) {
		if 2*elements > smallToken {
			prefetchFar(unsafe.Pointer(&r.halves[first]), 2*elements)
		} else {
			prefetchBFloat16(r.halves[first : first+elements])
		}
	}
}

// prefetch starts loading the n elements from at on.
func (r Rows[T]) prefetch(at, n int) {
	if r.halves != nil {
		prefetchBFloat16(r.halves[at : at+n])
		return
	}
	prefetch(r.floats[at : at+n])
}

// singles is the slice itself, of a T that is float32.
func singles[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// rooms is scratch memory for rows of bfloat16, a piece a worker.
type rooms[T Float] [][]T

// ready makes the rooms hold n elements, if any of the rows is of bfloat16.
func (s *rooms[T]) ready(p *Pool, n int, of ...Rows[T]) {
	for _, r := range of {
		if r.halves != nil {
			*s = growRows(*s, p, n)
			return
		}
	}
	*s = growKept(*s, p.Threads())
}

// part is n elements of a worker's room from at on, nil where there is none.
func (s rooms[T]) part(worker, at, n int) []T {
	if room := s[worker]; len(room) >= at+n {
		return room[at : at+n]
	}
	return nil
}

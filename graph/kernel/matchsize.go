package kernel

import "math"

// MatchSize gives rows the sizes of other rows, size(x) = sqrt(mean(x^2)), as AltUp does with the
// streams that it makes by projections (Gemma 3n, transformers' Gemma3nTextModel):
//
//	y = r v,   r = size(like) / sqrt(max(mean(v^2), MatchFloor))
//
// Dot products are summed in float64.
type MatchSize[T Float] struct {
	task matchSizeTask[T]
	path path
}

// MatchFloor is the smallest mean square that rows are divided by.
const MatchFloor = 1e-5

// Forward computes y from v and like, all of rows of the given width.
func (k *MatchSize[T]) Forward(p *Pool, y, v, like []T, width int) {
	k.run(p, matchSizeTask[T]{y: y, v: v, like: like, width: width})
}

// Backward computes the gradients of v and like from dy, the gradient of y:
//
//	dv = r (dy - v (dy . v) / (v . v));   dlike = r like (dy . v) / (like . like)
//
// without the second term of dv where mean(v^2) is below the floor, and with dlike = 0 where like
// is 0. dv may be dy. dlike may be nil; accumulate adds it to what the slice holds.
func (k *MatchSize[T]) Backward(p *Pool, dv, dlike, dy, v, like []T, width int, accumulate bool) {
	k.run(p, matchSizeTask[T]{y: dv, dlike: dlike, dy: dy, v: v, like: like, width: width, accumulate: accumulate})
}

func (k *MatchSize[T]) run(p *Pool, t matchSizeTask[T]) {
	t.path = pathOf[T](k.path)
	k.task = t
	p.Do(len(t.v)/t.width, &k.task)
}

type matchSizeTask[T Float] struct {
	y, v, like []T // y is dv in a backward pass
	dy, dlike  []T // nil: a forward pass
	width      int
	accumulate bool
	path       path
}

func (t *matchSizeTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		y, v, like := rowOf(t.y, i, t.width), rowOf(t.v, i, t.width), rowOf(t.like, i, t.width)
		squares, likeSquares := dotProduct(t.path, v, v), dotProduct(t.path, like, like)
		floor := MatchFloor * float64(t.width)
		r := math.Sqrt(likeSquares / max(squares, floor))
		if t.dy == nil {
			scaleTo(t.path, y, v, T(r))
			continue
		}
		dy := rowOf(t.dy, i, t.width)
		along := r * dotProduct(t.path, dy, v)
		scaleTo(t.path, y, dy, T(r))
		if squares > floor {
			addMultiple(t.path, y, v, T(-along/squares))
		}
		t.gradLike(rowOf(t.dlike, i, t.width), like, along, likeSquares)
	}
}

// gradLike computes a row of dlike; along is r (dy . v).
func (t *matchSizeTask[T]) gradLike(dlike, like []T, along, squares float64) {
	factor := T(0)
	if squares > 0 {
		factor = T(along / squares)
	}
	switch {
	case dlike == nil:
	case t.accumulate:
		addMultiple(t.path, dlike, like, factor)
	default:
		scaleTo(t.path, dlike, like, factor)
	}
}

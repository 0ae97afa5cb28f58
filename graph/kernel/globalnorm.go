package kernel

// GlobalNorm computes the squared Euclidean norm of one parameter's gradient. The global norm for
// gradient clipping is the square root of the sum over all parameters.
type GlobalNorm[T Float] struct {
	task sumSquaresTask[T]
	path path
}

// SumSquares returns the sum of x^2 in float64: first over blocks of 4096 elements, then over the
// blocks in order, so that the result does not depend on the number of threads. A NaN or an
// infinity in xs makes the result NaN or +Inf.
func (k *GlobalNorm[T]) SumSquares(p *Pool, xs []T) float64 {
	t := &k.task
	blocks := (len(xs) + squaresBlock - 1) / squaresBlock
	t.x, t.sums = xs, grow(t.sums, blocks)
	t.path = pathOf[T](k.path)
	p.Do(blocks, t)
	var total float64
	for _, s := range t.sums {
		total += s
	}
	return total
}

const squaresBlock = 4096

type sumSquaresTask[T Float] struct {
	x    []T
	sums []float64 // one for each block
	path path
}

func (t *sumSquaresTask[T]) Part(_, lo, hi int) {
	for b := lo; b < hi; b++ {
		x := t.x[b*squaresBlock : min((b+1)*squaresBlock, len(t.x))]
		t.sums[b] = dotProduct(t.path, x, x) // in float64: a gradient's square may lie outside float32's range
	}
}

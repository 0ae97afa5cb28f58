package kernel

// GlobalNorm computes the squared Euclidean norm of the gradients of all parameters together, whose
// square root is the global norm for gradient clipping.
type GlobalNorm[T Float] struct {
	tasks sequence[sumSquaresTask[T]]
	path  path
}

// Add adds a parameter's gradient to those of the next SumSquares.
func (k *GlobalNorm[T]) Add(xs []T) {
	blocks := (len(xs) + squaresBlock - 1) / squaresBlock
	t := k.tasks.add(blocks)
	t.x, t.sums, t.path = xs, grow(t.sums, blocks), pathOf[T](k.path)
}

// SumSquares returns the sum of x^2 in float64: over blocks of 4096 elements of a gradient, then
// over its blocks, then over the gradients, all in order, so that the result does not depend on the
// number of threads. A NaN or an infinity makes the result NaN or +Inf.
func (k *GlobalNorm[T]) SumSquares(p *Pool) float64 {
	total := 0.0
	for _, t := range k.tasks.run(p) {
		gradient := 0.0
		for _, s := range t.sums {
			gradient += s
		}
		total += gradient
	}
	return total
}

const squaresBlock = 4096

type sumSquaresTask[T Float] struct {
	x    []T
	sums []float64 // one for each block
	path path
}

func (t sumSquaresTask[T]) Part(_, lo, hi int) {
	for b := lo; b < hi; b++ {
		x := t.x[b*squaresBlock : min((b+1)*squaresBlock, len(t.x))]
		t.sums[b] = dotProduct(t.path, x, x) // in float64: a gradient's square may lie outside float32's range
	}
}

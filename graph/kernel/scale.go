package kernel

// Scale multiplies by a number.
type Scale[T Float] struct {
	task scaleTask[T]
	path path
}

// Run computes out = factor * x, element by element. out may be x. A factor of 1 copies.
func (k *Scale[T]) Run(p *Pool, out, x []T, factor float64) {
	k.task = scaleTask[T]{out: out[:len(x)], x: x, factor: T(factor), path: pathOf[T](k.path)}
	p.Do(len(x), &k.task)
}

type scaleTask[T Float] struct {
	out, x []T
	factor T
	path   path
}

func (t *scaleTask[T]) Part(_, lo, hi int) {
	scaleTo(t.path, t.out[lo:hi], t.x[lo:hi], t.factor)
}

// scaleTo computes out = factor * x.
func scaleTo[T Float](p path, out, x []T, factor T) {
	if factor == 1 {
		copy(out, x)
		return
	}
	const few = 12 // elements that take less time than a call
	if p > portable && len(out) > few {
		fastScale(p, out, x, factor)
		return
	}
	x = x[:len(out)]
	for j, v := range x {
		out[j] = factor * v
	}
}

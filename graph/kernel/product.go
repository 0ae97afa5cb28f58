package kernel

// Product multiplies two tensors element by element.
type Product[T Float] struct {
	task productTask[T]
	path path
}

// Forward computes y = a ⊙ b. y may be either.
func (k *Product[T]) Forward(p *Pool, y, a, b []T) {
	k.task = productTask[T]{y: y[:len(a)], a: a, b: b[:len(a)], path: pathOf[T](k.path)}
	p.Do(len(a), &k.task)
}

type productTask[T Float] struct {
	y, a, b []T
	path    path
}

func (t *productTask[T]) Part(_, lo, hi int) {
	multiply(t.path, t.y[lo:hi], t.a[lo:hi], t.b[lo:hi])
}

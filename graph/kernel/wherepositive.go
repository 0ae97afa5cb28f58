package kernel

// WherePositive computes y = x where gate > 0, else 0, element by element.
type WherePositive[T Float] struct{ task wherePositiveTask[T] }

// Run computes y, which may be x or gate.
func (k *WherePositive[T]) Run(p *Pool, y, x, gate []T) {
	k.task = wherePositiveTask[T]{y, x, gate}
	p.Do(len(y), &k.task)
}

type wherePositiveTask[T Float] struct{ y, x, gate []T }

func (t *wherePositiveTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		if t.gate[i] > 0 {
			t.y[i] = t.x[i]
		} else {
			t.y[i] = 0
		}
	}
}

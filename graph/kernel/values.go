package kernel

// Values copies the values [tokens, kvHeads, headDim] out of packed queries, keys and values, and
// puts their gradients back.
type Values[T Float] struct {
	task valuesTask[T]
	path path
}

// Forward copies the values of x [tokens, heads + 2 kvHeads, headDim] to v.
func (k *Values[T]) Forward(p *Pool, v, x []T, d QKVParams) {
	k.task = valuesTask[T]{v: v, x: x, d: d}
	p.Do(d.Tokens, &k.task)
}

// Backward sets dx, the gradient of x, to addend, or to 0 if that is nil, and adds dv to the
// gradient of the values. dx may be addend.
func (k *Values[T]) Backward(p *Pool, dx, dv, addend []T, d QKVParams) {
	k.task = valuesTask[T]{v: dv, dx: dx, x: addend, d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.task)
}

// First computes the gradient of v0 from one attention's mixing, dfirst = addend + weights[1] dv,
// where dy [tokens, heads + 2 kvHeads, headDim] is the gradient of the mixed tensor. addend is v0's
// gradient from other attentions, nil if there is none; dfirst may be addend.
func (k *Values[T]) First(p *Pool, dfirst, dy, weights, addend []T, d QKVParams) {
	k.task = valuesTask[T]{v: dfirst, dy: dy, x: addend, weight: valueWeights(weights)[1], d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.task)
}

type valuesTask[T Float] struct {
	v, x   []T
	dx, dy []T // dx for Backward, dy for First
	weight T
	d      QKVParams
	path   path
}

func (t *valuesTask[T]) Part(_, lo, hi int) {
	d := &t.d
	at, width, kv := d.width()-d.kvWidth(), d.width(), d.kvWidth()
	for i := lo; i < hi; i++ {
		v := rowOf(t.v, i, kv)
		switch {
		case t.dy != nil && t.x == nil:
			scaleTo(t.path, v, rowOf(t.dy, i, width)[at:], t.weight)
		case t.dy != nil:
			copyOver(v, rowOf(t.x, i, kv))
			addMultiple(t.path, v, rowOf(t.dy, i, width)[at:], t.weight)
		case t.dx == nil:
			copy(v, rowOf(t.x, i, width)[at:])
		case t.x == nil:
			dx := rowOf(t.dx, i, width)
			clear(dx[:at])
			copy(dx[at:], v)
		default:
			dx := rowOf(t.dx, i, width)
			copyOver(dx, rowOf(t.x, i, width))
			addTo(t.path, dx[at:], v)
		}
	}
}

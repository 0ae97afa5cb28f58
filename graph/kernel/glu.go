package kernel

// GLU computes the product of a gated linear unit (Dauphin et al. 2017, arXiv 1612.08083, section
// 2), whose gate comes before the value: each row of x is [gate | value],
//
//	y = addends + sigmoid(gate) ⊙ value
//
// It is computed as in Sigmoid, in float64 and rounded once; then the addends are added, from the
// last to the first.
type GLU[T Float] struct {
	forward  gluForward[T]
	backward gluBackward[T]
	path     path
}

// Forward computes y [rows, width] from x [rows, 2*width] and any number of addends [rows, width].
// y may be the last addend, but no other addend and not x.
func (k *GLU[T]) Forward(p *Pool, y, x []T, addends [][]T, rows, width int) {
	for _, a := range addends {
		_ = a[:rows*width]
	}
	k.forward = gluForward[T]{y: y[:rows*width], x: x[:2*rows*width], addends: addends, width: width, path: pathOf[T](k.path)}
	p.Do(rows, &k.forward)
}

// Backward computes dx [rows, 2*width] from dy [rows, width] and x:
//
//	dgate = dy ⊙ value ⊙ sigmoid'(gate);  dvalue = dy ⊙ sigmoid(gate)
func (k *GLU[T]) Backward(p *Pool, dx, dy, x []T, rows, width int) {
	k.backward = gluBackward[T]{dx: dx[:2*rows*width], dy: dy[:rows*width], x: x[:2*rows*width], width: width, path: pathOf[T](k.path)}
	p.Do(rows, &k.backward)
}

type gluForward[T Float] struct {
	y, x    []T
	addends [][]T
	width   int
	path    path
}

func (t *gluForward[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.row(i*t.width, (i+1)*t.width)
	}
}

// row computes the entries [first, end) of y within one row.
func (t *gluForward[T]) row(first, end int) {
	y, gate, value := t.y[first:end], t.x[2*first:first+end], t.x[first+end:2*end]
	rest := len(t.addends) - 1
	if rest < 0 {
		gatedAlone(t.path, y, gate, value)
		return
	}
	gated(t.path, y, gate, value, t.addends[rest][first:end])
	for rest--; rest >= 0; rest-- {
		addTo(t.path, y, t.addends[rest][first:end])
	}
}

type gluBackward[T Float] struct {
	dx, dy, x []T
	width     int
	path      path
}

func (t *gluBackward[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		first, end := i*t.width, (i+1)*t.width
		middle := first + end
		gatedGradientAlone(t.path, t.dx[middle:2*end], t.dx[2*first:middle], t.dy[first:end], t.x[2*first:middle], t.x[middle:2*end])
	}
}

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
		gated(t.path, y, nil, gate, value)
		return
	}
	gated(t.path, y, t.addends[rest][first:end], gate, value)
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
		gatedGradient(t.path, t.dx[2*first:middle], t.dx[middle:2*end], t.dy[first:end], t.x[2*first:middle], t.x[middle:2*end], nil)
	}
}

// gated computes y = addend + sigmoid(gate) value; addend may be nil. y may be any of the
// inputs.
func gated[T Float](p path, y, addend, gate, value []T) {
	n := len(gate)
	y, value = y[:n], value[:n]
	if p > portable {
		if addend == nil {
			fastGated(p, y, gate, value)
		} else {
			fastGatedAdd(p, y, addend, gate, value)
		}
		return
	}
	limit := sigmoidLimit[T]()
	for i, v := range gate {
		product := float64(value[i]) / (1 + sigmoidDecay[T](float64(v), limit))
		if addend != nil {
			product += float64(addend[i])
		}
		y[i] = T(product)
	}
}

// gatedGradient is the backward pass of gated:
//
//	dgate = dy value sigmoid'(gate);  dvalue = addend + dy sigmoid(gate)
//
// addend may be nil; the product is rounded before the addition, as in a separate pass. Each output
// may be any of the inputs. If only dvalue is wanted, dgate may be the same slice: dvalue is
// written last.
func gatedGradient[T Float](p path, dgate, dvalue, dy, gate, value, addend []T) {
	n := len(gate)
	dgate, dvalue, dy, value = dgate[:n], dvalue[:n], dy[:n], value[:n]
	if p > portable {
		if addend == nil {
			fastGatedGradient(p, dgate, dvalue, dy, gate, value)
		} else {
			fastGatedGradientAdd(p, dgate, dvalue, dy, gate, value, addend)
		}
		return
	}
	limit := sigmoidLimit[T]()
	for i, v := range gate {
		decay := sigmoidDecay[T](float64(v), limit)
		open := 1 / (1 + decay)
		through := float64(dy[i]) * open
		slope := float64(value[i]) * (through * (decay * open))
		sum := T(through)
		if addend != nil {
			sum += addend[i]
		}
		dgate[i], dvalue[i] = T(slope), sum
	}
}

// gatedSingle computes what gated does. Where there are fast float32 lanes it computes the sigmoid
// in them, to a few units in the last place.
func gatedSingle[T Float](p path, y, addend, gate, value []T) {
	n := len(gate)
	y, value = y[:n], value[:n]
	switch {
	case p == portable:
		gated(p, y, addend, gate, value)
	case addend == nil:
		fastGatedSingle(p, y, gate, value)
	default:
		fastGatedAddSingle(p, y, addend, gate, value)
	}
}

// gatedGradientSingle computes what gatedGradient does without an addend, with the sigmoid of
// gatedSingle.
func gatedGradientSingle[T Float](p path, dgate, dvalue, dy, gate, value []T) {
	n := len(gate)
	dgate, dvalue, dy, value = dgate[:n], dvalue[:n], dy[:n], value[:n]
	if p == portable {
		gatedGradient(p, dgate, dvalue, dy, gate, value, nil)
		return
	}
	fastGatedGradientSingle(p, dgate, dvalue, dy, gate, value)
}

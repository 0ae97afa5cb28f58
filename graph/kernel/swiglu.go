package kernel

// SwiGLU computes the product of a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv
// 2002.05202, section 2; Hendrycks & Gimpel 2016), element by element:
//
//	y = silu(gate) ⊙ value,   silu(x) = x sigmoid(x)
//
// It is computed as in Sigmoid, in float64 and rounded once; for x < -104 (float32) or x < -700
// (float64), silu(x) is its value at the limit, -1e-43 and -1e-301.
type SwiGLU[T Float] struct {
	task swiGLUTask[T]
	path path
}

// Forward computes y = silu(gate) ⊙ value. y may be either.
func (k *SwiGLU[T]) Forward(p *Pool, y, gate, value []T) {
	n := len(gate)
	k.task = swiGLUTask[T]{y: y[:n], gate: gate, value: value[:n], path: pathOf[T](k.path)}
	p.Do(n, &k.task)
}

// Backward computes
//
//	dgate = dy ⊙ value ⊙ silu'(gate);  dvalue = dy ⊙ silu(gate)
//
// Each of them may be any of the inputs. If only dgate is wanted, dvalue may be the same slice.
func (k *SwiGLU[T]) Backward(p *Pool, dgate, dvalue, dy, gate, value []T) {
	n := len(gate)
	k.task = swiGLUTask[T]{y: dgate[:n], dvalue: dvalue[:n], dy: dy[:n], gate: gate, value: value[:n], path: pathOf[T](k.path)}
	p.Do(n, &k.task)
}

// swiGLUTask computes y or, if there is a dy, the gradients, with dgate in y.
type swiGLUTask[T Float] struct {
	y, dvalue, dy, gate, value []T
	path                       path
}

func (t *swiGLUTask[T]) Part(_, lo, hi int) {
	if t.dy == nil {
		swiGLU(t.path, t.y[lo:hi], t.gate[lo:hi], t.value[lo:hi])
	} else {
		swiGLUGradient(t.path, t.y[lo:hi], t.dvalue[lo:hi], t.dy[lo:hi], t.gate[lo:hi], t.value[lo:hi])
	}
}

// swiGLUPortable computes y = silu(gate) value. y may be either.
func swiGLUPortable[T Float](y, gate, value []T) {
	n := len(gate)
	y, value = y[:n], value[:n]
	limit := sigmoidLimit[T]()
	for i, v := range gate {
		x := float64(v)
		y[i] = T(max(x, -limit) * float64(value[i]) / (1 + sigmoidDecay[T](x, limit)))
	}
}

// swiGLUGradientPortable is the backward pass of swiGLU, with silu'(x) = s (1 + x (1 - s)) and s =
// sigmoid(x). Each output may be any of the inputs. If only dgate is wanted, dvalue may be the same
// slice: dgate is written last.
func swiGLUGradientPortable[T Float](dgate, dvalue, dy, gate, value []T) {
	n := len(gate)
	dgate, dvalue, dy, value = dgate[:n], dvalue[:n], dy[:n], value[:n]
	limit := sigmoidLimit[T]()
	for i, v := range gate {
		x := float64(v)
		decay := sigmoidDecay[T](x, limit)
		open := 1 / (1 + decay)
		x = max(x, -limit)
		through := float64(dy[i]) * open
		slope := through * (1 + min(x, limit)*(decay*open)) * float64(value[i])
		dvalue[i], dgate[i] = T(through*x), T(slope)
	}
}

package kernel

// SwiGLU computes the product of a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv
// 2002.05202, section 2; Hendrycks & Gimpel 2016):
//
//	y = silu(gate) ⊙ value,   silu(x) = x sigmoid(x)
//
// It is computed as in Sigmoid, in float64 and rounded once; for x < -104 (float32) or x < -700
// (float64), silu(x) is its value at the limit, -1e-43 and -1e-301. Out: y, which may be either
// input. In: gate, value.
func SwiGLU[T Float](x Elements[T]) { swiGLU(x.path, x.Out[0], x.In[0], x.In[1]) }

// SwiGLUGradient computes
//
//	dgate = dy ⊙ value ⊙ silu'(gate);  dvalue = dy ⊙ silu(gate)
//
// Out: dgate, dvalue, each of which may be any input. In: dy, gate, value.
func SwiGLUGradient[T Float](x Elements[T]) {
	swiGLUGradient(x.path, x.Out[0], x.or(1), x.In[0], x.In[1], x.In[2])
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

package kernel

// Scale computes y = factor x; a factor of 1 copies. Out: y, which may be x. In: x. Numbers:
// factor.
func Scale[T Float](x Elements[T]) { scaleTo(x.path, x.Out[0], x.In[0], T(x.Numbers[0])) }

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

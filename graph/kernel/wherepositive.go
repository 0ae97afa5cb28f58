package kernel

// WherePositive computes y = x where gate > 0, else 0. Out: y, which may be either input. In: x,
// gate.
func WherePositive[T Float](x Elements[T]) {
	y, values := x.Out[0], x.In[0]
	for i, gate := range x.In[1] {
		if gate > 0 {
			y[i] = values[i]
		} else {
			y[i] = 0
		}
	}
}

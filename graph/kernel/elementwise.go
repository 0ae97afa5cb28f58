package kernel

// Elements are the entries at the same places of an element-wise function's arrays.
type Elements[T Float] struct {
	Out     [4][]T // results; but for the first, nil if not wanted
	In      [5][]T // inputs, nil if absent
	Numbers [2]float64

	path path
}

// ElementFunc computes x.Out from x.In, all of which have the same length. Results may share memory
// with inputs as the function says.
type ElementFunc[T Float] func(x Elements[T])

// InstanceOf returns f[T] for a generic function f, given its two instances. A generic function
// that named f[T] itself would allocate memory.
func InstanceOf[T Float](single ElementFunc[float32], double ElementFunc[float64]) ElementFunc[T] {
	if f, ok := any(single).(ElementFunc[T]); ok {
		return f
	}
	return any(double).(ElementFunc[T])
}

// Elementwise applies an ElementFunc to whole arrays. The results do not depend on the number of
// threads.
type Elementwise[T Float] struct {
	path  path
	f     ElementFunc[T]
	whole Elements[T]
}

// Run computes out = f(in), with as many entries as out[0] has.
func (k *Elementwise[T]) Run(p *Pool, f ElementFunc[T], out, in [][]T, numbers ...float64) {
	k.set(k.path, f, out, in, numbers)
	p.Do(len(out[0]), k)
}

func (k *Elementwise[T]) set(on path, f ElementFunc[T], out, in [][]T, numbers []float64) {
	k.f, k.whole = f, Elements[T]{path: pathOf[T](on)}
	copy(k.whole.Out[:], out)
	copy(k.whole.In[:], in)
	copy(k.whole.Numbers[:], numbers)
}

// Part computes the entries [lo, hi).
func (k *Elementwise[T]) Part(_, lo, hi int) { k.f(k.whole.piece(lo, hi)) }

// piece returns the entries [lo, hi).
func (x Elements[T]) piece(lo, hi int) Elements[T] {
	for i, array := range x.Out {
		if array != nil {
			x.Out[i] = array[lo:hi]
		}
	}
	for i, array := range x.In {
		if array != nil {
			x.In[i] = array[lo:hi]
		}
	}
	return x
}

// or returns result i or, if it is not wanted, the first one, which f then has to write last.
func (x Elements[T]) or(i int) []T {
	if x.Out[i] == nil {
		return x.Out[0]
	}
	return x.Out[i]
}

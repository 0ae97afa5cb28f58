package kernel

// Add sums any number of inputs of the same size, such as the gradients from several uses of a
// value.
type Add[T Float] struct {
	task addTask[T]
	path path
}

// Run computes out (+)= inputs[0] + inputs[1] + ..., element by element, adding from left to right.
// With accumulate the sum starts from what out holds; otherwise from inputs[0], or from zero if
// there are no inputs. out may be inputs[0], but no other input. Every input must have at least
// len(out) elements.
func (k *Add[T]) Run(p *Pool, out Rows[T], inputs []Rows[T], accumulate bool) {
	t := &k.task
	t.out, t.inputs, t.accumulate, t.path = out, inputs, accumulate, pathOf[T](k.path)
	t.rooms.ready(p, 3*addBlock, out)
	for _, x := range inputs {
		t.rooms.ready(p, 3*addBlock, x.first(out.len()))
	}
	p.Do(out.len(), t)
}

type addTask[T Float] struct {
	out        Rows[T]
	inputs     []Rows[T]
	accumulate bool
	path       path
	rooms      rooms[T] // for a block of out, and of two inputs
}

// addBlock is the number of elements of out that stay in the first-level cache while
// all inputs are added to them.
const addBlock = 2048

func (t *addTask[T]) Part(worker, lo, hi int) {
	if lo < hi && !t.accumulate && len(t.inputs) == 1 && t.out.halves != nil && t.inputs[0].halves != nil {
		copyOver(t.out.halves[lo:hi], t.inputs[0].halves[lo:hi])
		return
	}
	for ; lo < hi; lo += addBlock {
		t.block(worker, lo, min(addBlock, hi-lo))
	}
}

// block adds the inputs over n elements from element at on, two inputs at a time.
func (t *addTask[T]) block(worker, at, n int) {
	sum, a, b := t.rooms.part(worker, 0, addBlock), t.rooms.part(worker, addBlock, addBlock), t.rooms.part(worker, 2*addBlock, addBlock)
	input := func(i int, room []T) []T { return t.inputs[i].read(t.path, room, at, n) }
	out, first := t.out.target(sum, at, n), 0
	switch {
	case t.accumulate:
		out = t.out.read(t.path, sum, at, n)
	case len(t.inputs) == 0:
		clear(out)
	case len(t.inputs) == 1:
		t.inputs[0].readTo(t.path, out, at)
		first = 1
	default:
		setSum(t.path, out, input(0, a), input(1, b))
		first = 2
	}
	for ; first+2 <= len(t.inputs); first += 2 {
		addTwo(t.path, out, input(first, a), input(first+1, b))
	}
	if first < len(t.inputs) {
		addTo(t.path, out, input(first, a))
	}
	t.out.write(t.path, out, at)
}

// addTwoPortable computes out = out + a + b.
func addTwoPortable[T Float](out, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] = out[j] + v + b[j]
	}
}

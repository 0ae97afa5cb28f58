package kernel

// Add sums any number of inputs of the same size, as where gradients of several uses of
// a value meet.
type Add[T Float] struct {
	task addTask[T]
	path path
}

// Run computes out (+)= inputs[0] + inputs[1] + ..., element by element and added from
// left to right. accumulate says that the sum starts from what out holds; otherwise it
// starts from inputs[0], from zero if there are no inputs. out may be inputs[0], none
// of the others. Every input has at least len(out) elements.
func (k *Add[T]) Run(p *Pool, out []T, inputs [][]T, accumulate bool) {
	for _, x := range inputs {
		_ = x[:len(out)]
	}
	k.task = addTask[T]{out: out, inputs: inputs, accumulate: accumulate, path: pathOf[T](k.path)}
	p.Do(len(out), &k.task)
}

type addTask[T Float] struct {
	out        []T
	inputs     [][]T
	accumulate bool
	path       path
}

// addBlock is the number of elements of out that stay in the first-level cache while
// all inputs are added to them.
const addBlock = 2048

func (t *addTask[T]) Part(_, lo, hi int) {
	for ; lo < hi; lo += addBlock {
		end := min(lo+addBlock, hi)
		t.block(lo, end)
	}
}

// block adds the elements [lo, hi), two inputs at a time.
func (t *addTask[T]) block(lo, hi int) {
	out, rest := t.out[lo:hi], t.inputs
	if !t.accumulate {
		switch len(rest) {
		case 0:
			clear(out)
		case 1:
			copy(out, rest[0][lo:hi])
			rest = rest[1:]
		default:
			setSum(t.path, out, rest[0][lo:hi], rest[1][lo:hi])
			rest = rest[2:]
		}
	}
	for ; len(rest) >= 2; rest = rest[2:] {
		addTwo(t.path, out, rest[0][lo:hi], rest[1][lo:hi])
	}
	if len(rest) == 1 {
		addTo(t.path, out, rest[0][lo:hi])
	}
}

// setSum computes out = a + b.
func setSum[T Float](p path, out, a, b []T) {
	if p > portable {
		fastSetSum(p, out, a, b)
		return
	}
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] = v + b[j]
	}
}

// addTwo computes out = out + a + b.
func addTwo[T Float](p path, out, a, b []T) {
	if p > portable {
		fastAddTwo(p, out, a, b)
		return
	}
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] = out[j] + v + b[j]
	}
}

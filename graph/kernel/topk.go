package kernel

import "slices"

// TopK keeps the largest entries of each row, where they are positive.
type TopK[T Float] struct {
	task topKTask[T]
	kept []int
}

// Run computes y from x, [rows, width]: the k largest entries of a row where they are positive, 0
// elsewhere. Of equal entries the first are kept. y may be x.
func (k *TopK[T]) Run(p *Pool, y, x []T, width, keep int) {
	rows := len(x) / width
	if len(k.kept) < rows*keep {
		k.kept = make([]int, rows*keep)
	}
	k.task = topKTask[T]{y, x, k.kept, width, keep}
	p.Do(rows, &k.task)
}

type topKTask[T Float] struct {
	y, x        []T
	kept        []int // [rows, keep], memory for indices
	width, keep int
}

func (t *topKTask[T]) Part(_, lo, hi int) {
	for row := lo; row < hi; row++ {
		x, y := t.x[row*t.width:][:t.width], t.y[row*t.width:][:t.width]
		kept := t.kept[row*t.keep:][:0:t.keep] // indices, the largest entry first
		for i, v := range x {
			n := len(kept)
			switch {
			case !(v > 0) || n == t.keep && v <= x[kept[n-1]]:
				continue
			case n == t.keep:
				n--
			}
			at := n
			for at > 0 && x[kept[at-1]] < v {
				at--
			}
			kept = slices.Insert(kept[:n], at, i)
		}
		slices.Sort(kept)
		for i, v := range x {
			if y[i] = 0; len(kept) > 0 && kept[0] == i {
				y[i], kept = v, kept[1:]
			}
		}
	}
}

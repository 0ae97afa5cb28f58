package kernel

// MultiwaySumParams are the sizes of a MultiwaySum.
type MultiwaySumParams struct {
	Tokens, Width int // each tensor has Tokens x Width elements
	Terms         int // number of tensors
	Ways          int // number of sums for each token
}

func (d MultiwaySumParams) size() int { return d.Tokens * d.Width }

// MultiwaySum computes several sums of the same tensors, each with separate weights for each token,
// as MUDD connections do with the outputs of all earlier blocks (Xiao et al. 2025, arXiv
// 2502.12170, section 2):
//
//	y[c]_t = sum over j of a[t, c, j] x[j]_t
//
// a is [Tokens, Ways, Terms]. The sums lie in two tensors: packed [Tokens, Ways-1, Width] has all
// but the last, which is [Tokens, Width].
type MultiwaySum[T Float] struct {
	task multiwayTask[T]
	path path
}

// Forward computes the sums, adding the terms as WeightedSum does: with weights of 0 and a single 1
// a sum equals that tensor, bit for bit. If last is nil, it is not computed.
func (k *MultiwaySum[T]) Forward(p *Pool, packed, last, a []T, x [][]T, d MultiwaySumParams) {
	k.run(p, multiwayTask[T]{step: multiwayForward, packed: packed, last: last, a: a, x: x[:d.Terms], d: d})
}

// Weights computes the gradient of the weights from those of the sums, in float64:
//
//	da[t, c, j] (+)= dy[c]_t . x[j]_t
//
// If packed or last is nil, its gradients are taken as 0. accumulate adds the products to what da
// holds.
func (k *MultiwaySum[T]) Weights(p *Pool, da, packed, last []T, x [][]T, accumulate bool, d MultiwaySumParams) {
	k.run(p, multiwayTask[T]{step: multiwayWeights, packed: packed, last: last, a: da, x: x[:d.Terms], accumulate: accumulate, d: d})
}

// Term computes the gradient of tensor j, plus addend unless that is nil:
//
//	dx_t = addend_t + sum over c of a[t, c, j] dy[c]_t
//
// If packed or last is nil, its gradients are taken as 0. dx may be addend.
func (k *MultiwaySum[T]) Term(p *Pool, dx, packed, last, a, addend []T, j int, d MultiwaySumParams) {
	k.run(p, multiwayTask[T]{step: multiwayTerm, packed: packed, last: last, a: a, dx: dx[:d.size()], addend: addend, j: j, d: d})
}

func (k *MultiwaySum[T]) run(p *Pool, t multiwayTask[T]) {
	t.scratch, t.path = growRows(k.task.scratch, p, 2*t.d.Width), pathOf[T](k.path)
	k.task = t
	p.Do(t.d.Tokens, &k.task)
}

// multiwayStep says what a multiwayTask computes.
type multiwayStep int

const (
	multiwayForward multiwayStep = iota
	multiwayWeights
	multiwayTerm
)

type multiwayTask[T Float] struct {
	step                        multiwayStep
	packed, last, a, dx, addend []T
	x                           [][]T
	j                           int
	accumulate                  bool
	d                           MultiwaySumParams
	scratch                     [][]T // a pair of rows for each worker
	path                        path
}

func (t *multiwayTask[T]) Part(worker, lo, hi int) {
	for token := lo; token < hi; token++ {
		from, to := token*t.d.Width, (token+1)*t.d.Width
		a := t.a[token*t.d.Ways*t.d.Terms:][:t.d.Ways*t.d.Terms]
		if t.step == multiwayTerm {
			t.term(worker, token, a, from, to)
			continue
		}
		for c := range t.d.Ways {
			way, a := t.way(token, c), a[c*t.d.Terms:][:t.d.Terms]
			switch {
			case way == nil && (t.step == multiwayForward || t.accumulate):
			case way == nil:
				clear(a)
			case t.step == multiwayWeights:
				allDots(t.path, a, way, t.x, from, to, t.accumulate)
			default:
				sumMultiples(t.path, way, a, t.x, from, to)
			}
		}
	}
}

// way returns a token's row of a sum, or of its gradient; nil if there is none.
func (t *multiwayTask[T]) way(token, c int) []T {
	width, packed := t.d.Width, t.d.Ways-1
	switch {
	case c < packed && t.packed != nil:
		return t.packed[(token*packed+c)*width:][:width]
	case c == packed && t.last != nil:
		return t.last[token*width:][:width]
	}
	return nil
}

// term computes a token's row of the gradient of tensor j: first the part from the packed sums,
// adding two at a time, then the part from the last sum, then both together, then the addend, as
// separate passes would.
func (t *multiwayTask[T]) term(worker, token int, a []T, from, to int) {
	width, packed := t.d.Width, t.d.Ways-1
	sum, product := t.dx[from:to], t.scratch[worker][width:][:width]
	if t.addend != nil {
		sum = t.scratch[worker][:width]
	}
	at := func(c int) T { return a[c*t.d.Terms+t.j] }
	if t.packed != nil {
		scaleTo(t.path, sum, t.way(token, 0), at(0))
		c := 1
		for ; c+1 < packed; c += 2 {
			addTwoMultiples(t.path, sum, t.way(token, c), t.way(token, c+1), at(c), at(c+1))
		}
		if c < packed {
			addMultiple(t.path, sum, t.way(token, c), at(c))
		}
	}
	switch {
	case t.last == nil:
	case t.packed == nil:
		scaleTo(t.path, sum, t.way(token, packed), at(packed))
	default:
		scaleTo(t.path, product, t.way(token, packed), at(packed))
		setSum(t.path, sum, sum, product)
	}
	if t.addend != nil {
		setSum(t.path, t.dx[from:to], t.addend[from:to], sum)
	}
}

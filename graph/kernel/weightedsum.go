package kernel

// WeightedSumParams are the sizes of a WeightedSum.
type WeightedSumParams struct {
	Tokens, Width int  // of each tensor: Tokens x Width elements
	Terms         int  // tensors, and weights
	Shared        bool // one set of weights for all tokens, not one a token
}

func (d WeightedSumParams) size() int { return d.Tokens * d.Width }

// WeightedSum adds tensors up, each times a weight of its own, as DenseFormer does with the
// outputs of all earlier blocks (Pagliardini et al. 2024, arXiv 2402.02622, section 3):
//
//	y_t = sum over j of a[j] x[j]_t
//
// a is [Terms], or [Tokens, Terms] with weights of each token's own.
type WeightedSum[T Float] struct {
	forward weightedSumTask[T]
	weights sumWeightsTask[T]
	term    sumTermTask[T]
	path    path
}

// weightedBlock is the number of elements of the sum that stay in the first-level cache
// while all tensors pass.
const weightedBlock = 2048

// Forward computes y, the terms added from the first to the last. A tensor of weight 0 is
// left out, not read: with weights of 0 and a single 1 the sum is that tensor, bit for bit. y
// may be x[0].
func (k *WeightedSum[T]) Forward(p *Pool, y, a []T, x [][]T, d WeightedSumParams) {
	t := &k.forward
	t.y, t.a, t.x, t.d, t.path = y[:d.size()], a, x[:d.Terms], d, pathOf[T](k.path)
	p.Do(d.size(), t)
	t.x = nil // keeps no operand alive
}

// Weights computes the gradient of the weights from dy, that of the sum, in float64:
//
//	da[j] (+)= sum over t of dy_t . x[j]_t
//
// or, with weights of each token's own, the products of each token. accumulate says that
// they are added to what da holds. The result does not depend on the thread count.
func (k *WeightedSum[T]) Weights(p *Pool, da, dy []T, x [][]T, accumulate bool, d WeightedSumParams) {
	t := &k.weights
	t.da, t.dy, t.x, t.accumulate, t.d, t.path = da, dy[:d.size()], x[:d.Terms], accumulate, d, pathOf[T](k.path)
	if !d.Shared {
		p.Do(d.Tokens, t)
		t.x = nil
		return
	}
	blocks := (d.size() + weightedBlock - 1) / weightedBlock
	t.sums = grow(t.sums, blocks*d.Terms)
	p.Do(blocks, t)
	for j := range d.Terms {
		sum := 0.0
		for b := range blocks {
			sum += t.sums[b*d.Terms+j]
		}
		store(&da[j], sum, accumulate)
	}
	t.x = nil
}

// Term computes the gradient of tensor j, plus addend unless that is nil:
//
//	dx_t = addend_t + a[j] dy_t
//
// dx may be dy or addend.
func (k *WeightedSum[T]) Term(p *Pool, dx, dy, a, addend []T, j int, d WeightedSumParams) {
	t := &k.term
	t.dx, t.dy, t.a, t.addend, t.j, t.d, t.path = dx[:d.size()], dy[:d.size()], a, addend, j, d, pathOf[T](k.path)
	t.products = growKept(t.products, p.Threads())
	p.Do(d.size(), t)
	t.addend = nil
}

// eachBlock calls f with the parts of the elements [lo, hi) that fit the first-level cache
// and have one set of weights, and with the number of that set.
func (d WeightedSumParams) eachBlock(lo, hi int, f func(set, lo, hi int)) {
	width := d.Width
	if d.Shared {
		width = d.size()
	}
	for lo < hi {
		set := lo / width
		end := min(hi, lo+weightedBlock, (set+1)*width)
		f(set, lo, end)
		lo = end
	}
}

type weightedSumTask[T Float] struct {
	y, a []T
	x    [][]T
	d    WeightedSumParams
	path path
}

func (t *weightedSumTask[T]) Part(_, lo, hi int) {
	t.d.eachBlock(lo, hi, func(set, lo, hi int) {
		sumMultiples(t.path, t.y[lo:hi], t.a[set*t.d.Terms:(set+1)*t.d.Terms], t.x, lo, hi)
	})
}

// sumMultiples computes y from the elements [lo, hi) of x: after the first tensor two at a time,
// since memory serves two streams faster than one.
func sumMultiples[T Float](p path, y, a []T, x [][]T, lo, hi int) {
	empty, waiting := true, -1
	for j, weight := range a {
		switch {
		case weight == 0:
		case empty:
			scaleTo(p, y, x[j][lo:hi], weight)
			empty = false
		case waiting < 0:
			waiting = j
		default:
			addTwoMultiples(p, y, x[waiting][lo:hi], x[j][lo:hi], a[waiting], weight)
			waiting = -1
		}
	}
	switch {
	case empty:
		clear(y)
	case waiting >= 0:
		addMultiple(p, y, x[waiting][lo:hi], a[waiting])
	}
}

type sumWeightsTask[T Float] struct {
	da, dy     []T
	x          [][]T
	sums       []float64 // [blocks, Terms], of weights for all tokens
	accumulate bool
	d          WeightedSumParams
	path       path
}

// Part works on blocks, or on tokens.
func (t *sumWeightsTask[T]) Part(_, lo, hi int) {
	size := t.d.Width
	if t.d.Shared {
		size = weightedBlock
	}
	for i := lo; i < hi; i++ {
		t.piece(i, i*size, min((i+1)*size, len(t.dy)))
	}
}

// piece makes the products of the elements [from, to), piece number i.
func (t *sumWeightsTask[T]) piece(i, from, to int) {
	dy, n := t.dy[from:to], t.d.Terms
	for j := 0; j < n; j += 2 {
		if j+1 == n {
			t.put(i*n+j, dotProduct(t.path, dy, t.x[j][from:to]))
			return
		}
		first, second := dotProducts(t.path, dy, t.x[j][from:to], t.x[j+1][from:to])
		t.put(i*n+j, first)
		t.put(i*n+j+1, second)
	}
}

func (t *sumWeightsTask[T]) put(i int, product float64) {
	if t.d.Shared {
		t.sums[i] = product
	} else {
		store(&t.da[i], product, t.accumulate)
	}
}

type sumTermTask[T Float] struct {
	dx, dy, a, addend []T
	j                 int
	d                 WeightedSumParams
	products          [][]T // a block of a dy, one a worker
	path              path
}

func (t *sumTermTask[T]) Part(worker, lo, hi int) {
	t.products[worker] = grow(t.products[worker], weightedBlock)
	t.d.eachBlock(lo, hi, func(set, lo, hi int) {
		weight := t.a[set*t.d.Terms+t.j]
		if t.addend == nil {
			scaleTo(t.path, t.dx[lo:hi], t.dy[lo:hi], weight)
			return
		}
		product := t.products[worker][:hi-lo]
		scaleTo(t.path, product, t.dy[lo:hi], weight)
		setSum(t.path, t.dx[lo:hi], t.addend[lo:hi], product)
	})
}

// addTwoMultiples computes out += factor * x + other * y.
func addTwoMultiples[T Float](p path, out, x, y []T, factor, other T) {
	if p > portable {
		fastAddTwoMultiples(p, out, x, y, factor, other)
		return
	}
	x, y = x[:len(out)], y[:len(out)]
	for i, v := range x {
		out[i] = out[i] + factor*v + other*y[i]
	}
}

// dotProduct is x . y, multiplied and summed in float64.
func dotProduct[T Float](p path, x, y []T) float64 {
	if p > portable {
		return fastDot(p, x, y)
	}
	y = y[:len(x)]
	var s0, s1 float64
	for ; len(x) >= 2; x, y = x[2:], y[2:] {
		s0 += float64(x[0]) * float64(y[0])
		s1 += float64(x[1]) * float64(y[1])
	}
	for i, v := range x {
		s0 += float64(v) * float64(y[i])
	}
	return s0 + s1
}

// dotProducts are z . x and z . y in float64.
func dotProducts[T Float](p path, z, x, y []T) (zx, zy float64) {
	if p > portable {
		return fastTwoDots(p, z, x, y)
	}
	return dotProduct(p, z, x), dotProduct(p, z, y)
}

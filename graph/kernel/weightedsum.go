package kernel

// WeightedSumParams are the sizes of a WeightedSum.
type WeightedSumParams struct {
	Tokens, Width int  // each tensor has Tokens x Width elements
	Terms         int  // number of tensors and weights
	Shared        bool // one set of weights for all tokens, not one for each token
}

func (d WeightedSumParams) size() int { return d.Tokens * d.Width }

// WeightedSum sums tensors, each multiplied by its own weight, as DenseFormer does with the outputs
// of all earlier blocks (Pagliardini et al. 2024, arXiv 2402.02622, section 3):
//
//	y_t = sum over j of a[j] x[j]_t
//
// a is [Terms], or [Tokens, Terms] with separate weights for each token.
type WeightedSum[T Float] struct {
	task     weightedSumTask[T]
	perToken MultiwaySum[T]
	path     path
}

// weightedBlock is the number of elements of the sum that stay in the first-level cache while all
// tensors are added.
const weightedBlock = 2048

// Forward computes y, adding the terms in order. A tensor with weight 0 is skipped, not read: with
// weights of 0 and a single 1 the sum equals that tensor, bit for bit. y may be x[0].
func (k *WeightedSum[T]) Forward(p *Pool, y, a []T, x [][]T, d WeightedSumParams) {
	if !d.Shared {
		k.tokens().Forward(p, nil, y, a, x, d.ways())
		return
	}
	k.run(p, weightedSumTask[T]{step: multiwayForward, y: y, a: a, x: x}, d)
}

// Weights computes the gradient of the weights from dy, the gradient of the sum, in float64:
//
//	da[j] (+)= sum over t of dy_t . x[j]_t
//
// or, with separate weights for each token, the products of each token. accumulate adds them to
// what da holds. The result does not depend on the number of threads.
func (k *WeightedSum[T]) Weights(p *Pool, da, dy []T, x [][]T, accumulate bool, d WeightedSumParams) {
	if !d.Shared {
		k.tokens().Weights(p, da, nil, dy, x, accumulate, d.ways())
		return
	}
	blocks := pieces{d.size(), weightedBlock}.number()
	k.task.sums = grow(k.task.sums, blocks*d.Terms)
	k.run(p, weightedSumTask[T]{step: multiwayWeights, y: dy, x: x}, d)
	for j := range d.Terms {
		sum := 0.0
		for b := range blocks {
			sum += k.task.sums[b*d.Terms+j]
		}
		store(&da[j], sum, accumulate)
	}
}

// Term computes the gradient of tensor j, plus addend unless that is nil:
//
//	dx_t = addend_t + a[j] dy_t
//
// dx may be dy or addend.
func (k *WeightedSum[T]) Term(p *Pool, dx, dy, a, addend []T, j int, d WeightedSumParams) {
	if !d.Shared {
		k.tokens().Term(p, dx, nil, dy, a, addend, j, d.ways())
		return
	}
	k.run(p, weightedSumTask[T]{step: multiwayTerm, y: dy, a: a[j:], dx: dx, addend: addend}, d)
}

// tokens returns the kernel for separate weights for each token; ways returns its sizes.
func (k *WeightedSum[T]) tokens() *MultiwaySum[T] {
	k.perToken.path = k.path
	return &k.perToken
}

func (d WeightedSumParams) ways() MultiwaySumParams {
	return MultiwaySumParams{Tokens: d.Tokens, Width: d.Width, Terms: d.Terms, Ways: 1}
}

func (k *WeightedSum[T]) run(p *Pool, t weightedSumTask[T], d WeightedSumParams) {
	t.terms, t.path = d.Terms, pathOf[T](k.path)
	t.sums, t.products = k.task.sums, growRows(k.task.products, p, weightedBlock)
	t.blocks = pieces{d.size(), weightedBlock}
	k.task = t
	p.Do(t.blocks.number(), &k.task)
}

// weightedSumTask computes a sum with weights for all tokens.
type weightedSumTask[T Float] struct {
	step             multiwayStep
	y, a, dx, addend []T
	x                [][]T
	sums             []float64 // [blocks, Terms], for the weights' gradient
	terms            int
	blocks           pieces
	products         [][]T // a block of a dy for each worker
	path             path
}

func (t *weightedSumTask[T]) Part(worker, first, end int) {
	for block := first; block < end; block++ {
		lo, hi := t.blocks.items(block)
		y := t.y[lo:hi]
		switch {
		case t.step == multiwayForward:
			sumMultiples(t.path, y, t.a[:t.terms], t.x, lo, hi)
		case t.step == multiwayWeights:
			allDots(t.path, t.sums[block*t.terms:][:t.terms], y, t.x, lo, hi, false)
		case t.addend == nil:
			scaleTo(t.path, t.dx[lo:hi], y, t.a[0])
		default:
			product := t.products[worker][:hi-lo]
			scaleTo(t.path, product, y, t.a[0])
			setSum(t.path, t.dx[lo:hi], t.addend[lo:hi], product)
		}
	}
}

// sumMultiples computes y from the elements [lo, hi) of x. After the first tensor it takes two at a
// time, since memory serves two streams faster than one.
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

// allDots computes the dot products of y with the elements [lo, hi) of all x, two at a time, or
// adds them to products if accumulate is true.
func allDots[T, S Float](p path, products []S, y []T, x [][]T, lo, hi int, accumulate bool) {
	j := 0
	for ; j+1 < len(products); j += 2 {
		first, second := dotProducts(p, y, x[j][lo:hi], x[j+1][lo:hi])
		store(&products[j], first, accumulate)
		store(&products[j+1], second, accumulate)
	}
	if j < len(products) {
		store(&products[j], dotProduct(p, y, x[j][lo:hi]), accumulate)
	}
}

// addTwoMultiplesPortable computes out += factor * x + other * y.
func addTwoMultiplesPortable[T Float](out, x, y []T, factor, other T) {
	x, y = x[:len(out)], y[:len(out)]
	for i, v := range x {
		out[i] = out[i] + factor*v + other*y[i]
	}
}

// dotProductPortable returns x . y, multiplied and summed in float64.
func dotProductPortable[T Float](x, y []T) float64 {
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

// dotProductsPortable returns z . x and z . y in float64.
func dotProductsPortable[T Float](z, x, y []T) (zx, zy float64) {
	return dotProductPortable(z, x), dotProductPortable(z, y)
}

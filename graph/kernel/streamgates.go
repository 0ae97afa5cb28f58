package kernel

// gatedTokens is the number of tokens whose coefficients are computed together, each
// entry of them being a vector over the tokens. It is a multiple of every vector's length,
// and that of internal/vecgen.
const gatedTokens = 32

// carryMap makes the n x n matrices H [n*n, gatedTokens] by which the streams of each token
// are mixed, from the logits [columns, gatedTokens] of their parametrisation. Each worker
// has one.
type carryMap[T Float] interface {
	// forward returns H, which is valid until the next call.
	forward(p path, logits []T, n int) (h []T)
	// backward computes dlogits from dh, which it may change, after forward.
	backward(p path, dlogits, dh []T, n int)
}

// streamGates computes the mixing coefficients of n residual streams, constrained to a
// manifold (arXiv 2512.24880, section 4.2). For each token, with zt = alpha[group] z + bias
// over the groups pre [n], post [n] and carry,
//
//	c_i = [ sigmoid(pre_i) | H_1i ... H_ni | 2 sigmoid(post_i) ],   H made of carry by a carryMap
//
// z [tokens, columns], alpha [3], bias [columns], c [tokens, n, n+2].
type streamGates[T Float] struct {
	forward  gatesForward[T]
	backward gatesBackward[T]
	workers  []gatesScratch[T]
	sums     treeSums[float64] // dbias [columns], dalpha [3]
}

// gatesSizes are those of a call.
type gatesSizes struct{ tokens, n, columns int }

// packed is the number of coefficients of a token.
func (d gatesSizes) packed() int { return d.n * (d.n + 2) }

// groups are the first columns of pre, post and carry, and their end.
func (d gatesSizes) groups() [4]int { return [4]int{0, d.n, 2 * d.n, d.columns} }

// gatesScratch is one worker's memory.
type gatesScratch[T Float] struct {
	carry carryMap[T]
	z, zt []T // [columns, gatedTokens]; backward: zt becomes its gradient
	gates []T // [2n, gatedTokens], sigmoid of pre and post
	c     []T // [n * (n+2), gatedTokens], or its gradient
	dh    []T // [n*n, gatedTokens]
}

// runForward computes c.
func (k *streamGates[T]) runForward(p *Pool, fast path, c, z, alpha, bias []T, d gatesSizes) {
	k.forward = gatesForward[T]{gatesInput[T]{z: z, alpha: alpha, bias: bias, d: d, path: fast}, c, k.workers}
	p.Do(d.tokens, &k.forward)
}

// runBackward computes dz, and dalpha and dbias unless they are nil.
func (k *streamGates[T]) runBackward(p *Pool, fast path, dz, dalpha, dbias, dc, z, alpha, bias []T, accumulateAlpha, accumulateBias bool, d gatesSizes) {
	k.backward = gatesBackward[T]{gatesInput[T]{z: z, alpha: alpha, bias: bias, d: d, path: fast}, dz, dc, k.workers, &k.sums}
	k.sums.set(p, portable, d.columns+3)
	blocks := pieces{d.tokens, gatedTokens}
	p.Do(blocks.number(), &k.backward)
	total := k.sums.total(p)
	if dbias != nil {
		storeTotal(dbias[:d.columns], total, accumulateBias)
	}
	if dalpha != nil {
		storeTotal(dalpha[:3], total[d.columns:], accumulateAlpha)
	}
}

// gatesInput is what both passes read.
type gatesInput[T Float] struct {
	z, alpha, bias []T
	d              gatesSizes
	path           path
}

// load makes zt and the gates of the tokens [first, first+m), and returns H. Where there
// are fewer than gatedTokens, the others have z = 0.
func (t *gatesInput[T]) load(s *gatesScratch[T], first, m int) (h []T) {
	columns, n := t.d.columns, t.d.n
	s.z, s.zt = grow(s.z, columns*gatedTokens), grow(s.zt, columns*gatedTokens)
	s.gates, s.c = grow(s.gates, 2*n*gatedTokens), grow(s.c, t.d.packed()*gatedTokens)
	turnTokens(t.path, s.z, t.z[first*columns:(first+m)*columns], m, columns)
	groups := t.d.groups()
	for g, factor := range t.alpha[:3] {
		for j := groups[g]; j < groups[g+1]; j++ {
			affine(t.path, entryOf(s.zt, j), entryOf(s.z, j), factor, t.bias[j])
		}
	}
	sigmoid(t.path, s.gates, s.zt[:len(s.gates)])
	return s.carry.forward(t.path, s.zt[len(s.gates):], n)
}

// turnTokens writes x [m, columns] to y [columns, gatedTokens]; tokens that are not there
// are zero.
func turnTokens[T Float](p path, y, x []T, m, columns int) {
	if m < gatedTokens {
		clear(y)
	}
	transpose(p, y, gatedTokens, x, columns, m, columns)
}

// entryOf is entry e of all tokens.
func entryOf[T Float](x []T, e int) []T { return x[e*gatedTokens : (e+1)*gatedTokens] }

// affine computes y = factor * x + shift.
func affine[T Float](p path, y, x []T, factor, shift T) {
	if p > portable {
		fastAffine(p, y, x, factor, shift)
		return
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] = factor*v + shift
	}
}

type gatesForward[T Float] struct {
	gatesInput[T]
	c       []T
	workers []gatesScratch[T]
}

func (t *gatesForward[T]) Part(worker, lo, hi int) {
	s, n, packed := &t.workers[worker], t.d.n, t.d.packed()
	for ; lo < hi; lo += gatedTokens {
		m := min(gatedTokens, hi-lo)
		h := t.load(s, lo, m)
		for i := range n {
			row := s.c[i*(n+2)*gatedTokens:]
			copy(entryOf(row, 0), entryOf(s.gates, i))
			for k := range n {
				copy(entryOf(row, 1+k), entryOf(h, k*n+i))
			}
			scaleTo(t.path, entryOf(row, n+1), entryOf(s.gates, n+i), 2)
		}
		transpose(t.path, t.c[lo*packed:(lo+m)*packed], packed, s.c, gatedTokens, packed, m)
	}
}

type gatesBackward[T Float] struct {
	gatesInput[T]
	dz, dc  []T
	workers []gatesScratch[T]
	sums    *treeSums[float64]
}

// Part works on some pieces of gatedTokens.
func (t *gatesBackward[T]) Part(worker, lo, hi int) {
	s, n := &t.workers[worker], t.d.n
	columns, packed := t.d.columns, t.d.packed()
	s.dh = grow(s.dh, n*n*gatedTokens)
	sum := t.sums.begin(worker)
	for piece := lo; piece < hi; piece++ {
		first := piece * gatedTokens
		m := min(gatedTokens, t.d.tokens-first)
		t.load(s, first, m)
		turnTokens(t.path, s.c, t.dc[first*packed:(first+m)*packed], m, packed)
		t.gradients(s)
		t.sum(s, sum.block[:columns], sum.block[columns:])
		sum.end(piece)
		transpose(t.path, t.dz[first*columns:(first+m)*columns], columns, s.zt, gatedTokens, columns, m)
	}
}

// gradients replaces zt by its gradient.
func (t *gatesBackward[T]) gradients(s *gatesScratch[T]) {
	n := t.d.n
	for i := range n {
		row := s.c[i*(n+2)*gatedTokens:]
		sigmoidGradient(t.path, entryOf(s.zt, i), entryOf(row, 0), entryOf(s.gates, i))
		for k := range n {
			copy(entryOf(s.dh, k*n+i), entryOf(row, 1+k))
		}
		post := entryOf(s.zt, n+i)
		sigmoidGradient(t.path, post, entryOf(row, n+1), entryOf(s.gates, n+i))
		scaleTo(t.path, post, post, 2)
	}
	s.carry.backward(t.path, s.zt[2*n*gatedTokens:], s.dh, n)
}

// sum adds to dbias and dalpha, and makes of the gradient of zt that of z.
func (t *gatesBackward[T]) sum(s *gatesScratch[T], dbias, dalpha []float64) {
	groups := t.d.groups()
	for g, factor := range t.alpha[:3] {
		for j := groups[g]; j < groups[g+1]; j++ {
			dzt := entryOf(s.zt, j)
			dbias[j] += sumAbout(t.path, dzt, 0)
			dalpha[g] += float64(rowDot(t.path, dzt, entryOf(s.z, j)))
			scaleTo(t.path, dzt, dzt, factor)
		}
	}
}

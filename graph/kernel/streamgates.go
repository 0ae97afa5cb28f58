package kernel

import "cmp"

// gatedTokens is the number of tokens whose coefficients are computed together: each entry is a
// vector over the tokens. It is a multiple of every vector's length, and equals sinkhornTokens in
// internal/vecgen.
const gatedTokens = 32

// Carry says how the matrix that mixes a token's streams is computed.
type Carry uint8

// The values of Carry: see sinkhornMap, permutationMap and kroneckerMap. With Unmixed rows are
// carried as they are, and c has no matrix; with ReadOnly it has no column for writing either.
const (
	Sinkhorn Carry = iota
	Permutations
	Kronecker
	Unmixed
	ReadOnly
)

// carryMap computes the n x n matrices H [n*n, gatedTokens] that mix the streams of each token,
// from the logits [columns, gatedTokens] of their parametrisation. Each worker has one.
type carryMap[T Float] interface {
	// forward returns H, which is valid until the next call.
	forward(p path, logits []T, d StreamGatesParams) (h []T)
	// backward computes dlogits from dh, which it may change, after forward.
	backward(p path, dlogits, dh []T, d StreamGatesParams)
}

func newCarryMap[T Float](c Carry) carryMap[T] {
	switch c {
	case Permutations:
		return &permutationMap[T]{}
	case Kronecker:
		return &kroneckerMap[T]{}
	case Unmixed, ReadOnly:
		return noMap[T]{}
	}
	return &sinkhornMap[T]{}
}

// noMap is the carryMap without a matrix.
type noMap[T Float] struct{}

func (noMap[T]) forward(path, []T, StreamGatesParams) []T   { return nil }
func (noMap[T]) backward(path, []T, []T, StreamGatesParams) {}

// StreamGates computes the mixing coefficients of n residual streams, constrained to a
// manifold (arXiv 2512.24880, section 4.2). For each token, with zt = alpha[group] z + bias
// over the groups pre [n], post [n] and carry,
//
//	c_i = [ sigmoid(pre_i) + Eps | H_1i ... H_ni | Post sigmoid(post_i) + Eps ],   H computed from carry by a carryMap
//
// z [tokens, columns], alpha [groups], bias [columns], c [tokens, n, n+2]; with Unmixed two groups
// and c [tokens, n, 2], with ReadOnly one and [tokens, n, 1]. Without z and alpha, zt = bias. A
// StreamGates must always be used with the same Carry.
type StreamGates[T Float] struct {
	forward  gatesForward[T]
	backward gatesBackward[T]
	workers  []gatesScratch[T]
	sums     treeSums[float64] // dbias [columns], dalpha [3]
	path     path
}

// StreamGatesParams are the sizes of a StreamGates.
type StreamGatesParams struct {
	Tokens     int
	N          int // residual streams; for Kronecker, a power of two
	Carry      Carry
	Iterations int     // iterations of Sinkhorn, at least 1
	Post       float64 // factor of post's sigmoid; 0: 2
	Eps        float64 // added to pre and post
}

// Groups returns the number of groups of logits that have an alpha each.
func (d StreamGatesParams) Groups() int {
	switch d.Carry {
	case ReadOnly:
		return 1
	case Unmixed:
		return 2
	}
	return 3
}

// Row returns the number of coefficients of a row.
func (d StreamGatesParams) Row() int {
	if d.mixes() {
		return d.N + 2
	}
	return d.Groups()
}

// mixes tells whether the rows are mixed by a matrix.
func (d StreamGatesParams) mixes() bool { return d.Carry < Unmixed }

func (d StreamGatesParams) post() float64 { return cmp.Or(d.Post, 2) }

// gates returns the number of sigmoids of a token.
func (d StreamGatesParams) gates() int { return min(2, d.Groups()) * d.N }

// Columns returns the number of logits of a token: pre [n], post [n], and the matrix's logits: [n,
// n] for Sinkhorn, one for each permutation [n!], a pair for each factor of Kronecker [2 log2(n)].
func (d StreamGatesParams) Columns() int {
	switch d.Carry {
	case Permutations:
		return 2*d.N + factorial(d.N)
	case Kronecker:
		return 2*d.N + 2*factorsOf(d.N)
	case Unmixed, ReadOnly:
		return d.gates()
	}
	return 2*d.N + d.N*d.N
}

// packed returns the number of coefficients of a token.
func (d StreamGatesParams) packed() int { return d.N * d.Row() }

// groups returns the first columns of pre, post and carry, and the end of carry.
func (d StreamGatesParams) groups() [4]int { return [4]int{0, d.N, d.gates(), d.Columns()} }

// gatesScratch is one worker's memory.
type gatesScratch[T Float] struct {
	carry carryMap[T]
	z, zt []T // [columns, gatedTokens]; Backward overwrites zt with its gradient
	gates []T // [gates, gatedTokens], sigmoid of pre and post
	c     []T // [packed, gatedTokens], or its gradient
	dh    []T // [n*n, gatedTokens]
}

// Forward computes c.
func (k *StreamGates[T]) Forward(p *Pool, c, z, alpha, bias []T, d StreamGatesParams) {
	k.forward = gatesForward[T]{k.input(p, z, alpha, bias, d), c}
	p.Do(d.Tokens, &k.forward)
}

// Backward computes dz, dalpha and dbias from dc. Each of dalpha and dbias may be nil if it is not
// wanted. accumulateAlpha (accumulateBias) adds dalpha (dbias) to what the slice holds.
func (k *StreamGates[T]) Backward(p *Pool, dz, dalpha, dbias, dc, z, alpha, bias []T, accumulateAlpha, accumulateBias bool, d StreamGatesParams) {
	k.backward = gatesBackward[T]{k.input(p, z, alpha, bias, d), dz, dc, &k.sums}
	columns := d.Columns()
	k.sums.set(p, portable, columns+d.Groups())
	blocks := pieces{d.Tokens, gatedTokens}
	p.Do(blocks.number(), &k.backward)
	total := k.sums.total(p)
	if dbias != nil {
		storeTotal(dbias[:columns], total, accumulateBias)
	}
	if dalpha != nil {
		storeTotal(dalpha[:d.Groups()], total[columns:], accumulateAlpha)
	}
}

func (k *StreamGates[T]) input(p *Pool, z, alpha, bias []T, d StreamGatesParams) gatesInput[T] {
	k.workers = growKept(k.workers, p.Threads())
	for w := range k.workers {
		if k.workers[w].carry == nil {
			k.workers[w].carry = newCarryMap[T](d.Carry)
		}
	}
	return gatesInput[T]{z: z, alpha: alpha, bias: bias, d: d, columns: d.Columns(), path: pathOf[T](k.path), workers: k.workers}
}

// gatesInput holds what both passes read.
type gatesInput[T Float] struct {
	z, alpha, bias []T
	d              StreamGatesParams
	columns        int
	path           path
	workers        []gatesScratch[T]
}

// load computes zt and the gates of the tokens [first, first+m), and returns H. If m is less than
// gatedTokens, z is 0 for the missing tokens.
func (t *gatesInput[T]) load(s *gatesScratch[T], first, m int) (h []T) {
	columns := t.columns
	s.z, s.zt = grow(s.z, columns*gatedTokens), grow(s.zt, columns*gatedTokens)
	s.gates, s.c = grow(s.gates, t.d.gates()*gatedTokens), grow(s.c, t.d.packed()*gatedTokens)
	if t.z == nil {
		clear(s.z)
	} else {
		turnTokens(t.path, s.z, t.z[first*columns:(first+m)*columns], m, columns)
	}
	groups := t.d.groups()
	for g := range t.d.Groups() {
		for j := groups[g]; j < groups[g+1]; j++ {
			affine(t.path, entryOf(s.zt, j), entryOf(s.z, j), t.factor(g), t.bias[j])
		}
	}
	sigmoid(t.path, s.gates, s.zt[:len(s.gates)])
	return s.carry.forward(t.path, s.zt[len(s.gates):], t.d)
}

// factor returns a group's alpha.
func (t *gatesInput[T]) factor(group int) T {
	if t.alpha == nil {
		return 0
	}
	return t.alpha[group]
}

// turnTokens transposes x [m, columns] into y [columns, gatedTokens]; missing tokens are zero.
func turnTokens[T Float](p path, y, x []T, m, columns int) {
	if m < gatedTokens {
		clear(y)
	}
	transpose(p, y, gatedTokens, x, columns, m, columns)
}

// entryOf returns entry e of all tokens.
func entryOf[T Float](x []T, e int) []T { return x[e*gatedTokens : (e+1)*gatedTokens] }

// affinePortable computes y = factor * x + shift.
func affinePortable[T Float](y, x []T, factor, shift T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = factor*v + shift
	}
}

type gatesForward[T Float] struct {
	gatesInput[T]
	c []T
}

func (t *gatesForward[T]) Part(worker, lo, hi int) {
	s, n, packed := &t.workers[worker], t.d.N, t.d.packed()
	for ; lo < hi; lo += gatedTokens {
		m := min(gatedTokens, hi-lo)
		h := t.load(s, lo, m)
		for i := range n {
			row := s.c[i*t.d.Row()*gatedTokens:]
			t.gate(entryOf(row, 0), entryOf(s.gates, i), 1)
			if t.d.mixes() {
				for k := range n {
					copy(entryOf(row, 1+k), entryOf(h, k*n+i))
				}
			}
			if t.d.Groups() > 1 {
				t.gate(entryOf(row, t.d.Row()-1), entryOf(s.gates, n+i), T(t.d.post()))
			}
		}
		transpose(t.path, t.c[lo*packed:(lo+m)*packed], packed, s.c, gatedTokens, packed, m)
	}
}

// gate computes to = factor * gates + Eps.
func (t *gatesForward[T]) gate(to, gates []T, factor T) {
	if t.d.Eps == 0 {
		scaleTo(t.path, to, gates, factor)
		return
	}
	affine(t.path, to, gates, factor, T(t.d.Eps))
}

type gatesBackward[T Float] struct {
	gatesInput[T]
	dz, dc []T
	sums   *treeSums[float64]
}

// Part computes the pieces [lo, hi), each of gatedTokens tokens.
func (t *gatesBackward[T]) Part(worker, lo, hi int) {
	s, n := &t.workers[worker], t.d.N
	columns, packed := t.columns, t.d.packed()
	s.dh = grow(s.dh, n*n*gatedTokens)
	sum := t.sums.begin(worker)
	pieces{t.d.Tokens, gatedTokens}.each(lo, hi, func(first, end int) {
		t.load(s, first, end-first)
		turnTokens(t.path, s.c, t.dc[first*packed:end*packed], end-first, packed)
		t.gradients(s)
		t.sum(s, sum.block[:columns], sum.block[columns:])
		if t.dz != nil {
			transpose(t.path, t.dz[first*columns:end*columns], columns, s.zt, gatedTokens, columns, end-first)
		}
	}, sum)
}

// gradients replaces zt by its gradient.
func (t *gatesBackward[T]) gradients(s *gatesScratch[T]) {
	n := t.d.N
	for i := range n {
		row := s.c[i*t.d.Row()*gatedTokens:]
		sigmoidGradient(t.path, entryOf(s.zt, i), entryOf(row, 0), entryOf(s.gates, i))
		if t.d.mixes() {
			for k := range n {
				copy(entryOf(s.dh, k*n+i), entryOf(row, 1+k))
			}
		}
		if t.d.Groups() > 1 {
			post := entryOf(s.zt, n+i)
			sigmoidGradient(t.path, post, entryOf(row, t.d.Row()-1), entryOf(s.gates, n+i))
			scaleTo(t.path, post, post, T(t.d.post()))
		}
	}
	s.carry.backward(t.path, s.zt[t.d.gates()*gatedTokens:], s.dh, t.d)
}

// sum adds to dbias and dalpha, and turns the gradient of zt into the gradient of z.
func (t *gatesBackward[T]) sum(s *gatesScratch[T], dbias, dalpha []float64) {
	groups := t.d.groups()
	for g := range t.d.Groups() {
		factor := t.factor(g)
		for j := groups[g]; j < groups[g+1]; j++ {
			dzt := entryOf(s.zt, j)
			dbias[j] += sumAbout(t.path, dzt, 0)
			dalpha[g] += float64(rowDot(t.path, dzt, entryOf(s.z, j)))
			scaleTo(t.path, dzt, dzt, factor)
		}
	}
}

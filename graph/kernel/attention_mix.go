package kernel

// AttentionMix sums values by an attention pattern, whatever it is: nothing is masked.
//
//	out_i = sum_j P_ij v_j
//
// The pattern P is [batch*seq, heads, seq] (query, head, key), values are the last of
// qkv [batch*seq, heads + 2 kvHeads, headDim], out is [batch*seq, heads, headDim]. Each (batch, head)
// pair, or in GradValues each group of them, is one worker's, so that the results have the same bits for any number of threads.
type AttentionMix[T Float] struct {
	d       AttentionParams // only its sizes count
	pattern []T             // or its gradient
	qkv     []T             // or its gradient
	out     []T             // or its gradient
	workers []attentionMixWorker[T]
	path    path
}

// attentionMixWorker is the scratch of one worker.
type attentionMixWorker[T Float] struct {
	gemm Gemm[T]
	_    [cacheLine]byte
}

// Forward computes out.
func (m *AttentionMix[T]) Forward(p *Pool, out, pattern, qkv []T, d AttentionParams) {
	m.bind(p, pattern, qkv, out, d)
	p.Do(d.Batch*d.Heads, (*mixValues[T])(m))
	m.release()
}

// GradPattern computes dP_ij = dout_i.v_j, every element of it.
func (m *AttentionMix[T]) GradPattern(p *Pool, dpattern, dout, qkv []T, d AttentionParams) {
	m.bind(p, dpattern, qkv, dout, d)
	p.Do(d.Batch*d.Heads, (*mixGradPattern[T])(m))
	m.release()
}

// GradValues computes dqkv, every element of it: dv_j = sum_i P_ij dout_i, dq = dk = 0.
// dv of heads that share values are added up from the first to the last.
func (m *AttentionMix[T]) GradValues(p *Pool, dqkv, pattern, dout []T, d AttentionParams) {
	m.bind(p, pattern, dqkv, dout, d)
	p.Do(d.groups(), (*mixGradValues[T])(m))
	m.release()
}

func (m *AttentionMix[T]) bind(p *Pool, pattern, qkv, out []T, d AttentionParams) {
	m.d, m.pattern, m.qkv, m.out = d, pattern, qkv, out
	m.workers = growKept(m.workers, max(p.Threads(), len(m.workers)))
	for i := range m.workers {
		m.workers[i].gemm.path = m.path
	}
}

// release lets go of the caller's slices.
func (m *AttentionMix[T]) release() {
	m.d.Slopes = nil
	m.pattern, m.qkv, m.out = nil, nil, nil
}

// mixValues sums the values of whole (batch, head) pairs.
type mixValues[T Float] AttentionMix[T]

func (t *mixValues[T]) Part(worker, lo, hi int) {
	m := (*AttentionMix[T])(t)
	for pair := lo; pair < hi; pair++ {
		x := m.pair(pair)
		// out [queries, Dh] = P [queries, keys] v [keys, Dh]
		m.workers[worker].gemm.Run(nil, false, false, m.d.Seq, m.d.HeadDim, m.d.Seq, 1, x.pattern, x.perPattern, x.values, x.perPacked, 0, x.out, x.perOut)
	}
}

// mixGradPattern makes the gradient of the pattern of whole pairs.
type mixGradPattern[T Float] AttentionMix[T]

func (t *mixGradPattern[T]) Part(worker, lo, hi int) {
	m := (*AttentionMix[T])(t)
	for pair := lo; pair < hi; pair++ {
		x := m.pair(pair)
		// dP [queries, keys] = dout [queries, Dh] v^T [Dh, keys]
		m.workers[worker].gemm.Run(nil, false, true, m.d.Seq, m.d.Seq, m.d.HeadDim, 1, x.out, x.perOut, x.values, x.perPacked, 0, x.pattern, x.perPattern)
	}
}

// mixGradValues makes the gradient of qkv of whole groups.
type mixGradValues[T Float] AttentionMix[T]

func (t *mixGradValues[T]) Part(worker, lo, hi int) {
	m := (*AttentionMix[T])(t)
	group := m.d.group()
	for pair := lo * group; pair < hi*group; pair++ {
		x, beta := m.pair(pair), T(1)
		if pair%group == 0 {
			beta = 0
		}
		// dv [keys, Dh] (+)= P^T [keys, queries] dout [queries, Dh]
		m.workers[worker].gemm.Run(nil, true, false, m.d.Seq, m.d.HeadDim, m.d.Seq, 1, x.pattern, x.perPattern, x.out, x.perOut, beta, x.values, x.perPacked)
		for i := range m.d.Seq {
			clear(x.queries[i*x.perPacked:][:m.d.HeadDim])
			clear(x.keys[i*x.perPacked:][:m.d.HeadDim])
		}
	}
}

// mixPair is where the matrices of one (batch, head) pair begin, and how far apart their
// rows lie.
type mixPair[T Float] struct {
	pattern, queries, keys, values, out []T
	perPattern, perPacked, perOut       int // elements of a token
}

func (m *AttentionMix[T]) pair(pair int) mixPair[T] {
	token, head := pair/m.d.Heads*m.d.Seq, pair%m.d.Heads
	x := mixPair[T]{perPattern: m.d.Heads * m.d.Seq, perOut: m.d.Heads * m.d.HeadDim}
	x.pattern = m.pattern[token*x.perPattern+head*m.d.Seq:]
	x.queries, x.keys, x.values, x.perPacked = packed(&m.d, m.qkv, pair/m.d.Heads, head)
	x.out = m.out[token*x.perOut+head*m.d.HeadDim:]
	return x
}

package kernel

// AttentionMix sums values, weighted by an attention pattern, without masking:
//
//	out_i = sum_j P_ij v_j
//
// The pattern P is [batch*seq, heads, seq] (query, head, key), the values are the last heads of qkv
// [batch*seq, heads + 2 kvHeads, headDim], out is [batch*seq, heads, headDim]. One worker computes
// each (batch, head) pair, or in GradValues each group of them, so that the results have the same
// bits for any number of threads.
type AttentionMix[T Float] struct {
	d       AttentionParams // only the sizes are used
	step    mixStep
	group   int // number of pairs that one worker computes together
	pattern []T // or its gradient
	qkv     []T // or its gradient
	out     []T // or its gradient
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
	m.run(p, mixForward, pattern, qkv, out, d)
}

// GradPattern computes every element of dP_ij = dout_i.v_j.
func (m *AttentionMix[T]) GradPattern(p *Pool, dpattern, dout, qkv []T, d AttentionParams) {
	m.run(p, mixGradPattern, dpattern, qkv, dout, d)
}

// GradValues computes every element of dqkv: dv_j = sum_i P_ij dout_i, dq = dk = 0. For heads that
// share values, dv is summed in the order of heads.
func (m *AttentionMix[T]) GradValues(p *Pool, dqkv, pattern, dout []T, d AttentionParams) {
	m.run(p, mixGradValues, pattern, dqkv, dout, d)
}

// mixStep says what an AttentionMix computes.
type mixStep int

const (
	mixForward mixStep = iota
	mixGradPattern
	mixGradValues
)

func (m *AttentionMix[T]) run(p *Pool, step mixStep, pattern, qkv, out []T, d AttentionParams) {
	m.d, m.step, m.pattern, m.qkv, m.out = d, step, pattern, qkv, out
	m.group = choose(step == mixGradValues, d.group(), 1)
	m.workers = growKept(m.workers, max(p.Threads(), len(m.workers)))
	for i := range m.workers {
		m.workers[i].gemm.path = m.path
	}
	p.Do(d.Batch*d.Heads/m.group, m)
}

// Part computes whole (batch, head) pairs, or groups of them.
func (m *AttentionMix[T]) Part(worker, lo, hi int) {
	gemm, seq, dim := &m.workers[worker].gemm, m.d.Seq, m.d.HeadDim
	for pair := lo * m.group; pair < hi*m.group; pair++ {
		x := m.pair(pair)
		switch m.step {
		case mixForward: // out [queries, Dh] = P [queries, keys] v [keys, Dh]
			gemm.Run(nil, false, false, seq, dim, seq, 1, x.pattern, x.perPattern, x.values, x.perPacked, 0, x.out, x.perOut)
		case mixGradPattern: // dP [queries, keys] = dout [queries, Dh] v^T [Dh, keys]
			gemm.Run(nil, false, true, seq, seq, dim, 1, x.out, x.perOut, x.values, x.perPacked, 0, x.pattern, x.perPattern)
		case mixGradValues: // dv [keys, Dh] (+)= P^T [keys, queries] dout [queries, Dh]
			gemm.Run(nil, true, false, seq, dim, seq, 1, x.pattern, x.perPattern, x.out, x.perOut, T(min(pair%m.group, 1)), x.values, x.perPacked)
			for i := range seq {
				clear(x.queries[i*x.perPacked:][:dim])
				clear(x.keys[i*x.perPacked:][:dim])
			}
		}
	}
}

// mixPair says where the matrices of one (batch, head) pair begin, and how far apart their rows
// lie.
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

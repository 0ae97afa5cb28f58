package kernel

// RouterLosses computes the auxiliary losses of a mixture of experts' router.
type RouterLosses[T Float] struct {
	sums     routerSums[T]
	gradient routerGradient[T]
	shares   []float64 // [experts]
	path     path
}

// Balance returns the load-balancing loss (Fedus et al. 2021, arXiv 2101.03961, section 2.2,
// for K choices per token):
//
//	balance = E * sum over e of f_e P_e,   f_e = assignments of e / (K T),   P_e = mean over t of p_te
//
// with p_t = softmax(logits_t), logits [tokens, experts]. It is 1 if all experts have the same
// load.
func (k *RouterLosses[T]) Balance(p *Pool, logits []T, d Dispatch) float64 {
	k.sum(p, logits, d.Tokens, d.Experts)
	k.share(d)
	var loss float64
	for e, f := range k.shares {
		loss += f * k.sums.total[e]
	}
	return float64(d.Experts) / float64(d.Tokens) * loss
}

// BalanceGradient computes factor times the gradient of Balance with respect to the logits,
// treating the shares f as constant:
//
//	dlogits_te = factor * E/T * p_te (f_e - sum over j of f_j p_tj)
func (k *RouterLosses[T]) BalanceGradient(p *Pool, dlogits, logits []T, d Dispatch, factor float64) {
	k.share(d)
	k.gradients(p, dlogits, logits, d.Tokens, d.Experts, factor*float64(d.Experts)/float64(d.Tokens), k.shares)
}

// ZLoss returns the router's z-loss (Zoph et al. 2022, arXiv 2202.08906, section 3.2):
//
//	z = mean over t of (log sum over e of exp(logits_te))^2
func (k *RouterLosses[T]) ZLoss(p *Pool, logits []T, tokens, experts int) float64 {
	k.sum(p, logits, tokens, experts)
	return k.sums.total[experts] / float64(tokens)
}

// ZLossGradient computes factor times the gradient of ZLoss with respect to the logits:
//
//	dlogits_te = factor * 2/T * log Z_t p_te
func (k *RouterLosses[T]) ZLossGradient(p *Pool, dlogits, logits []T, tokens, experts int, factor float64) {
	k.gradients(p, dlogits, logits, tokens, experts, factor*2/float64(tokens), nil)
}

// share sets shares to f.
func (k *RouterLosses[T]) share(d Dispatch) {
	k.shares = grow(k.shares, d.Experts)
	for e := range k.shares {
		first, end := d.rows(e)
		k.shares[e] = float64(end-first) / float64(d.Rows())
	}
}

// sum leaves the sums over all tokens in total.
func (k *RouterLosses[T]) sum(p *Pool, logits []T, tokens, experts int) {
	t := &k.sums
	t.logits, t.experts, t.path = logits[:tokens*experts], experts, pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	t.sums.set(p, portable, experts+1)
	t.tokens = pieces{tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.total = t.sums.total(p)
}

func (k *RouterLosses[T]) gradients(p *Pool, dlogits, logits []T, tokens, experts int, factor float64, shares []float64) {
	t := &k.gradient
	t.dlogits, t.logits, t.experts = dlogits[:tokens*experts], logits[:tokens*experts], experts
	t.factor, t.shares, t.path = factor, shares, pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	p.Do(tokens, t)
}

// routerSums adds probabilities and squared log Z over tokens.
type routerSums[T Float] struct {
	logits  []T
	experts int
	path    path
	workers []routerToken[T]
	tokens  pieces
	sums    treeSums[float64] // [experts], and of the squares
	total   []float64
}

// Part computes the pieces [lo, hi).
func (t *routerSums[T]) Part(worker, lo, hi int) {
	w, sum := &t.workers[worker], t.sums.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			logZ := w.softmax(t.path, rowOf(t.logits, i, t.experts))
			for e, p := range w.p {
				sum.block[e] += float64(p)
			}
			sum.block[t.experts] += logZ * logZ
		}
	}, sum)
}

// routerGradient writes the gradient of the balance loss or, if shares is nil, of the z-loss.
type routerGradient[T Float] struct {
	dlogits, logits []T
	experts         int
	factor          float64
	shares          []float64
	path            path
	workers         []routerToken[T]
}

func (t *routerGradient[T]) Part(worker, lo, hi int) {
	w := &t.workers[worker]
	for i := lo; i < hi; i++ {
		dlogits := rowOf(t.dlogits, i, t.experts)
		logZ := w.softmax(t.path, rowOf(t.logits, i, t.experts))
		if t.shares == nil {
			for e, p := range w.p {
				dlogits[e] = T(t.factor * logZ * float64(p))
			}
			continue
		}
		var mean float64
		for e, p := range w.p {
			mean += t.shares[e] * float64(p)
		}
		for e, p := range w.p {
			dlogits[e] = T(t.factor * float64(p) * (t.shares[e] - mean))
		}
	}
}

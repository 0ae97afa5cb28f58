package kernel

import "math"

// Route is the router of a mixture of experts, after its matrix product: it chooses, for each
// token, the K experts of the highest probability, ties going to the lowest index, and weighs them
// by gates (Shazeer et al. 2017, arXiv 1701.06538, section 2.1, without the noise; the renormalised
// form is from Jiang et al. 2024, arXiv 2401.04088, section 2.1, the form for K = 1 from Fedus et
// al. 2021, arXiv 2101.03961, section 2.1):
//
//	p_t = softmax(logits_t)                         [experts]
//	g_ti = p_t,c(i) / sum over j of p_t,c(j)        K > 1, c(i) being the i-th choice
//	g_t1 = p_t,c(1)                                 K = 1, else the router had no gradient
//	g_ti = p_t,c(i)                                 Raw, whatever K
type Route[T Float] struct {
	Raw bool // use the probabilities themselves as gates

	task routeTask[T]
	path path
}

// Forward computes gates [tokens, K] from logits [tokens, experts] and fills d.
func (k *Route[T]) Forward(p *Pool, gates, logits []T, d Dispatch) {
	k.run(p, nil, gates, logits, d)
	d.sort()
}

// Backward computes dlogits [tokens, experts] from dgates [tokens, K], the gradient of the gates:
//
//	dlogits_t,c(i) = g_ti (dg_ti - sum over j of g_tj dg_tj)          K > 1, 0 elsewhere
//	dlogits_te = g_t1 dg_t1 ([e = c(1)] - p_te)                       K = 1
//	dlogits_te = sum over i of g_ti dg_ti ([e = c(i)] - p_te)         Raw
//
// Backward makes the choices again; they have no gradient.
func (k *Route[T]) Backward(p *Pool, dlogits, dgates, logits []T, tokens, choices, experts int) {
	k.run(p, dlogits, dgates, logits, Dispatch{Tokens: tokens, K: choices, Experts: experts})
}

func (k *Route[T]) run(p *Pool, dlogits, gates, logits []T, d Dispatch) {
	t := &k.task
	t.dlogits, t.gates, t.logits, t.d, t.raw, t.path = dlogits, gates, logits, d, k.Raw, pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	p.Do(d.Tokens, t)
}

// routerToken is one worker's memory for the token that it works on.
type routerToken[T Float] struct {
	p       []T     // [experts]
	choices []int32 // [K]
	gates   []T     // [K]
}

// route fills p, choices and gates from the logits of one token.
func (w *routerToken[T]) route(p path, logits []T, choices int, raw bool) {
	w.choices, w.gates = grow(w.choices, choices), grow(w.gates, choices)
	w.softmax(p, logits)
	w.choose(logits)
	if raw || choices == 1 {
		for i, e := range w.choices {
			w.gates[i] = w.p[e]
		}
		return
	}
	var sum float64
	for _, e := range w.choices {
		sum += float64(w.p[e])
	}
	for i, e := range w.choices {
		w.gates[i] = T(float64(w.p[e]) / sum)
	}
}

// softmax computes p and returns the logarithm of the sum of exp(logits).
func (w *routerToken[T]) softmax(p path, logits []T) (logZ float64) {
	w.p = grow(w.p, len(logits))
	copy(w.p, logits)
	largest := softmaxMax(p, w.p)
	sum := softmaxExp(p, w.p, largest)
	for e, v := range w.p {
		w.p[e] = T(float64(v) / sum)
	}
	return float64(largest) + math.Log(sum)
}

// choose finds the largest logits, which have the largest probabilities. It inserts each into
// choices before all that are smaller; a NaN is never inserted before another logit.
func (w *routerToken[T]) choose(logits []T) {
	chosen := 0
	for e, v := range logits {
		if chosen == len(w.choices) && !(v > logits[w.choices[chosen-1]]) {
			continue
		}
		chosen = min(chosen+1, len(w.choices))
		at := chosen - 1
		for ; at > 0 && v > logits[w.choices[at-1]]; at-- {
			w.choices[at] = w.choices[at-1]
		}
		w.choices[at] = int32(e)
	}
}

// routeTask routes tokens or, if there are dlogits, computes them from the gates' gradients in
// gates.
type routeTask[T Float] struct {
	dlogits, gates, logits []T
	d                      Dispatch
	raw                    bool
	path                   path
	workers                []routerToken[T]
}

func (t *routeTask[T]) Part(worker, lo, hi int) {
	w, d := &t.workers[worker], &t.d
	for i := lo; i < hi; i++ {
		gates := rowOf(t.gates, i, d.K)
		w.route(t.path, rowOf(t.logits, i, d.Experts), d.K, t.raw)
		if t.dlogits != nil {
			w.gradient(rowOf(t.dlogits, i, d.Experts), gates, t.raw)
			continue
		}
		copy(gates, w.gates)
		copy(d.Choices[i*d.K:], w.choices)
	}
}

// gradient writes the dlogits of the token that was routed last.
func (w *routerToken[T]) gradient(dlogits, dgates []T, raw bool) {
	if len(w.choices) == 1 {
		along := w.gates[0] * dgates[0]
		for e, p := range w.p {
			dlogits[e] = -along * p
		}
		dlogits[w.choices[0]] = along * (1 - w.gates[0])
		return
	}
	clear(dlogits)
	var along T
	for i, g := range w.gates {
		along += g * dgates[i]
	}
	if raw {
		for e, p := range w.p {
			dlogits[e] = -along * p
		}
		for i, e := range w.choices {
			dlogits[e] += w.gates[i] * dgates[i]
		}
		return
	}
	for i, e := range w.choices {
		dlogits[e] = w.gates[i] * (dgates[i] - along)
	}
}

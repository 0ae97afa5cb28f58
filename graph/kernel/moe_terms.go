package kernel

// ExpertTerms converts between tensors with a row for each expert that a token has chosen and
// tensors with a row for every expert, 0 for those not chosen. Spread and Gather are each
// other's gradient.
type ExpertTerms[T Float] struct{ task termsTask[T] }

// Spread computes terms [tokens, experts, width] from chosen [tokens, K, width]:
//
//	terms_te = chosen_ti if e is the i-th choice of t, 0 if e is not chosen
func (k *ExpertTerms[T]) Spread(p *Pool, terms, chosen []T, d Dispatch) {
	k.run(p, termsTask[T]{terms: terms, chosen: chosen, d: d, spread: true})
}

// Gather computes chosen [tokens, K, width] from terms [tokens, experts, width]: chosen_ti =
// terms_te, where e is the i-th choice of t.
func (k *ExpertTerms[T]) Gather(p *Pool, chosen, terms []T, d Dispatch) {
	k.run(p, termsTask[T]{terms: terms, chosen: chosen, d: d})
}

func (k *ExpertTerms[T]) run(p *Pool, t termsTask[T]) {
	k.task = t
	p.Do(t.d.Tokens, &k.task)
}

type termsTask[T Float] struct {
	terms, chosen []T
	d             Dispatch
	spread        bool
}

func (t *termsTask[T]) Part(_, lo, hi int) {
	d, width := &t.d, len(t.chosen)/t.d.Rows()
	if t.spread {
		clear(t.terms[lo*d.Experts*width : hi*d.Experts*width])
	}
	for assignment := lo * d.K; assignment < hi*d.K; assignment++ {
		term := rowOf(t.terms, assignment/d.K*d.Experts+int(d.Choices[assignment]), width)
		if chosen := rowOf(t.chosen, assignment, width); t.spread {
			copy(term, chosen)
		} else {
			copy(chosen, term)
		}
	}
}

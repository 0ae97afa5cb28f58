package kernel

// ExpertTerms lays what a mixture's tokens have of their chosen experts out over all
// experts, and takes it back: each is the other's gradient.
type ExpertTerms[T Float] struct {
	spread spreadTerms[T]
	gather gatherTerms[T]
}

// Spread computes terms [tokens, experts, width] from chosen [tokens, K, width]:
//
//	terms_te = chosen_ti where e is the i-th choice of t, 0 where e is none of them
func (k *ExpertTerms[T]) Spread(p *Pool, terms, chosen []T, d Dispatch) {
	k.spread = spreadTerms[T]{expertTerms[T]{terms: terms, chosen: chosen, d: d, width: len(chosen) / d.Rows()}}
	p.Do(d.Tokens, &k.spread)
	k.spread = spreadTerms[T]{} // keeps no operand alive
}

// Gather computes chosen [tokens, K, width] from terms [tokens, experts, width]:
// chosen_ti = terms_te where e is the i-th choice of t.
func (k *ExpertTerms[T]) Gather(p *Pool, chosen, terms []T, d Dispatch) {
	k.gather = gatherTerms[T]{expertTerms[T]{terms: terms, chosen: chosen, d: d, width: len(chosen) / d.Rows()}}
	p.Do(d.Tokens, &k.gather)
	k.gather = gatherTerms[T]{}
}

// expertTerms is what both tasks work on.
type expertTerms[T Float] struct {
	terms, chosen []T
	d             Dispatch
	width         int
}

// pair is where choice number i of token t stands in the two tensors.
func (x *expertTerms[T]) pair(t, i int) (term, chosen []T) {
	assignment := t*x.d.K + i
	return rowOf(x.terms, t*x.d.Experts+int(x.d.Choices[assignment]), x.width), rowOf(x.chosen, assignment, x.width)
}

type spreadTerms[T Float] struct{ expertTerms[T] }

func (t *spreadTerms[T]) Part(_, lo, hi int) {
	clear(t.terms[lo*t.d.Experts*t.width : hi*t.d.Experts*t.width])
	for token := lo; token < hi; token++ {
		for i := range t.d.K {
			term, chosen := t.pair(token, i)
			copy(term, chosen)
		}
	}
}

type gatherTerms[T Float] struct{ expertTerms[T] }

func (t *gatherTerms[T]) Part(_, lo, hi int) {
	for token := lo; token < hi; token++ {
		for i := range t.d.K {
			term, chosen := t.pair(token, i)
			copy(chosen, term)
		}
	}
}

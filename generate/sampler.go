package generate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// sampler draws a text's tokens from the model's logits, changed and filtered as Request says. It
// sums in float64; among equally likely tokens, lower ids come first.
type sampler struct {
	r          Request
	random     *rand.Rand
	seen       map[int32]bool // tokens of prompt and text, if there is a repetition penalty
	logits     []float32      // scratch, like the next two
	candidates []candidate
	ranking    ranking
}

// candidate is a token that may be drawn.
type candidate struct {
	id     int32
	logit  float32
	weight float64 // exp((logit - largest logit)/T)
}

// newSampler returns the sampler for a valid Request with this prompt.
func newSampler(r Request, prompt []int32) *sampler {
	r.TopP = cmp.Or(r.TopP, 1)
	s := &sampler{r: r, random: rand.New(rand.NewPCG(r.Seed, 0))}
	if r.RepetitionPenalty != 0 && r.RepetitionPenalty != 1 {
		s.seen = map[int32]bool{}
		for _, id := range prompt {
			s.seen[id] = true
		}
	}
	return s
}

// next draws a token from finite logits.
func (s *sampler) next(logits []float32) int32 {
	logits = s.amend(logits)
	best, largest := 0, logits[0]
	for i, l := range logits {
		if l > largest {
			best, largest = i, l
		}
	}
	id := int32(best)
	if s.r.Temperature > 0 {
		id = s.draw(s.atLeast(s.r.MinP, s.nucleus(s.weigh(logits, largest))))
	}
	if s.seen != nil {
		s.seen[id] = true
	}
	return id
}

// finite tells whether all logits are finite; those of a diverged model are not.
func finite(logits []float32) bool {
	for _, l := range logits {
		if l-l != 0 { // NaN, which an infinity minus itself is, too
			return false
		}
	}
	return true
}

// amend returns a copy of the logits with bias and repetition penalty applied.
func (s *sampler) amend(logits []float32) []float32 {
	if len(s.r.LogitBias) == 0 && s.seen == nil {
		return logits
	}
	s.logits = append(s.logits[:0], logits...)
	for id, bias := range s.r.LogitBias {
		if int(id) < len(s.logits) {
			s.logits[id] = float32(float64(s.logits[id]) + bias)
		}
	}
	for id := range s.seen {
		switch {
		case int(id) >= len(s.logits): // an id of the prompt may lie beyond the tokenizer's
		case s.logits[id] < 0:
			s.logits[id] = float32(float64(s.logits[id]) * s.r.RepetitionPenalty)
		default:
			s.logits[id] = float32(float64(s.logits[id]) / s.r.RepetitionPenalty)
		}
	}
	return s.logits
}

// weigh returns every token as a candidate, in order of ids.
func (s *sampler) weigh(logits []float32, largest float32) []candidate {
	s.candidates = s.candidates[:0]
	for i, l := range logits {
		weight := math.Exp((float64(l) - float64(largest)) / s.r.Temperature)
		s.candidates = append(s.candidates, candidate{int32(i), l, weight})
	}
	return s.candidates
}

// nucleus applies top-k, then top-p, whose probabilities are taken among the k candidates.
func (s *sampler) nucleus(all []candidate) []candidate {
	k := len(all)
	if s.r.TopK > 0 {
		k = min(k, s.r.TopK)
	}
	if k == len(all) && s.r.TopP == 1 {
		return all
	}
	total := mass(all)
	s.ranking.rank(all)
	if k < len(all) {
		total = mass(s.ranking.first(k))
	}
	if s.r.TopP == 1 {
		return s.ranking.first(k)
	}
	return s.ranking.nucleus(s.r.TopP*total, k)
}

// atLeast keeps the candidates that are at least share times as likely as the likeliest, whose
// weight is 1.
func (s *sampler) atLeast(share float64, all []candidate) []candidate {
	if share == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return c.weight < share })
}

func mass(candidates []candidate) float64 {
	sum := 0.0
	for _, c := range candidates {
		sum += c.weight
	}
	return sum
}

// draw picks a candidate with probability proportional to its weight.
func (s *sampler) draw(among []candidate) int32 {
	at := s.random.Float64() * mass(among)
	for _, c := range among {
		if at -= c.weight; at < 0 {
			return c.id
		}
	}
	return slices.MaxFunc(among, func(a, b candidate) int { return cmp.Compare(a.weight, b.weight) }).id // rounding left a remainder
}

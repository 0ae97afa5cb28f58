package generate

import (
	"math"
	"math/rand/v2"
)

// sampler draws tokens from logits l. With temperature T, p_i is proportional to
// exp(l_i/T); top-k keeps the k likeliest tokens, then top-p the fewest of those that
// have the probability P together (Holtzman et al. 2020, section 3.1), and one of what is
// left is drawn with its share. Sums are float64; of equally likely tokens the lower id
// comes first.
type sampler struct {
	temperature float64
	topK        int
	topP        float64
	random      *rand.Rand
	candidates  []candidate // scratch, as is ranking
	ranking     ranking
}

// candidate is a token that may be drawn.
type candidate struct {
	id     int32
	logit  float32
	weight float64 // exp((logit - the largest)/T)
}

// newSampler returns the sampler of a valid Request.
func newSampler(r Request) *sampler {
	s := &sampler{temperature: r.Temperature, topK: r.TopK, topP: r.TopP, random: rand.New(rand.NewPCG(r.Seed, 0))}
	if s.topP == 0 {
		s.topP = 1
	}
	return s
}

// next draws a token; ok is false where a logit is not finite.
func (s *sampler) next(logits []float32) (id int32, ok bool) {
	best := 0
	for i, l := range logits {
		if math.IsNaN(float64(l)) || math.IsInf(float64(l), 0) {
			return 0, false
		}
		if l > logits[best] {
			best = i
		}
	}
	if s.temperature == 0 {
		return int32(best), true
	}
	return s.draw(s.cut(s.weigh(logits, logits[best]))), true
}

// weigh makes every token a candidate, in order of ids.
func (s *sampler) weigh(logits []float32, largest float32) []candidate {
	s.candidates = s.candidates[:0]
	for i, l := range logits {
		weight := math.Exp((float64(l) - float64(largest)) / s.temperature)
		s.candidates = append(s.candidates, candidate{int32(i), l, weight})
	}
	return s.candidates
}

// cut leaves the candidates that top-k and top-p allow. The probability of top-p is that
// among the k candidates.
func (s *sampler) cut(all []candidate) []candidate {
	k := len(all)
	if s.topK > 0 {
		k = min(k, s.topK)
	}
	if k == len(all) && s.topP == 1 {
		return all
	}
	total := mass(all)
	s.ranking.rank(all)
	if k < len(all) {
		total = mass(s.ranking.first(k))
	}
	if s.topP == 1 {
		return s.ranking.first(k)
	}
	return s.ranking.nucleus(s.topP*total, k)
}

func mass(candidates []candidate) float64 {
	sum := 0.0
	for _, c := range candidates {
		sum += c.weight
	}
	return sum
}

// draw picks a candidate with its share of the weight.
func (s *sampler) draw(among []candidate) int32 {
	at := s.random.Float64() * mass(among)
	for _, c := range among {
		if at -= c.weight; at < 0 {
			return c.id
		}
	}
	return likeliest(among) // rounding left a rest
}

// likeliest returns the id of the largest weight, the first of several.
func likeliest(among []candidate) int32 {
	best := among[0]
	for _, c := range among {
		if c.weight > best.weight {
			best = c
		}
	}
	return best.id
}

package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// crossEntropyCase is one call; crossEntropyInputs makes its arguments.
type crossEntropyCase struct {
	tokens, f, vocab int
	transposed       bool
	scale, zLoss     float64
	ignore           int // every ignore-th token is ignored; 0: none
}

func (c crossEntropyCase) String() string {
	return fmt.Sprintf("tokens%d_f%d_vocab%d_transposed%t_z%g_ignore%d", c.tokens, c.f, c.vocab, c.transposed, c.zLoss, c.ignore)
}

func crossEntropyCases() []crossEntropyCase {
	return []crossEntropyCase{
		{1, 1, 1, false, 1, 0.1, 0},
		{1, 3, 5, true, 1, 0, 0},
		{7, 5, 11, false, 0.25, 1e-2, 3},
		{13, 8, 257, true, 0.5, 1e-4, 4},
		{67, 31, 101, false, 1, 0.1, 5},
		{5, 2, 3, true, 0, 0.1, 2},
	}
}

// crossEntropyInputs returns inputs from fixed seeds and outputs full of NaN.
func crossEntropyInputs[T Float](c crossEntropyCase) CrossEntropyArgs[T] {
	rng := rand.New(rand.NewPCG(21, 7))
	targets := make([]int32, c.tokens)
	for i := range targets {
		targets[i] = int32(rng.IntN(c.vocab))
		if c.ignore > 0 && i%c.ignore == 1 {
			targets[i] = -1 - int32(i)
		}
	}
	return CrossEntropyArgs[T]{
		Features: castTo[T](gaussians(22, c.tokens*c.f)), Weight: castTo[T](gaussians(23, c.f*c.vocab)),
		Transposed: c.transposed, Targets: targets, Tokens: c.tokens, F: c.f, Vocab: c.vocab,
		Scale: c.scale, ZLoss: c.zLoss,
		Losses: fullOfNaN[T](c.tokens), Hits: make([]int32, c.tokens),
		DFeatures: fullOfNaN[T](c.tokens * c.f), DWeight: fullOfNaN[T](c.f * c.vocab),
	}
}

// crossEntropyReference holds the results of the definition, computed with all logits in memory.
type crossEntropyReference struct {
	crossEntropy, zLoss        float64
	losses, dfeatures, dweight []float64
	hits                       []int32
}

func referenceCrossEntropy(a CrossEntropyArgs[float64]) crossEntropyReference {
	r := crossEntropyReference{
		losses: make([]float64, a.Tokens), hits: make([]int32, a.Tokens),
		dfeatures: make([]float64, a.Tokens*a.F), dweight: make([]float64, a.F*a.Vocab),
	}
	at := func(f, v int) int {
		if a.Transposed {
			return v*a.F + f
		}
		return f*a.Vocab + v
	}
	n := float64(a.counted())
	for t, target := range a.Targets {
		if target < 0 {
			continue
		}
		logits, z, best := make([]float64, a.Vocab), 0.0, 0
		for v := range logits {
			for f := range a.F {
				logits[v] += a.Scale * a.Features[t*a.F+f] * a.Weight[at(f, v)]
			}
			if logits[v] > logits[best] {
				best = v
			}
			z += math.Exp(logits[v])
		}
		r.losses[t] = math.Log(z) - logits[target]
		r.crossEntropy += r.losses[t] / n
		r.zLoss += a.ZLoss * math.Log(z) * math.Log(z) / n
		if best == int(target) {
			r.hits[t] = 1
		}
		for v, logit := range logits {
			d := math.Exp(logit) / z * (1 + 2*a.ZLoss*math.Log(z))
			if v == int(target) {
				d--
			}
			for f := range a.F {
				r.dfeatures[t*a.F+f] += a.Scale * d / n * a.Weight[at(f, v)]
				r.dweight[at(f, v)] += a.Scale * d / n * a.Features[t*a.F+f]
			}
		}
	}
	return r
}

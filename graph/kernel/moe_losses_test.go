package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRouterLosses(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		testRouterLosses[float64](t, c, 1e-12)
		testRouterLosses[float32](t, c, 2e-6)
	})
}

func testRouterLosses[T Float](t *testing.T, c moeCase, tolerance float64) {
	s := newMoEData[T](c)
	wide := s.wide(c)
	(&Route[T]{}).Forward(nil, s.gates, s.logits, s.dispatch)
	_, _, choices := naiveMoE(wide, c)
	balance := func() (loss float64) {
		p, _ := naiveProbabilities(wide.logits, c.experts)
		for e := range c.experts {
			var f, mean float64
			for _, chosen := range choices {
				if int(chosen) == e {
					f += 1 / float64(len(choices))
				}
			}
			for t := range c.tokens {
				mean += p[t*c.experts+e] / float64(c.tokens)
			}
			loss += float64(c.experts) * f * mean
		}
		return loss
	}
	z := func() (loss float64) {
		_, logZ := naiveProbabilities(wide.logits, c.experts)
		return inner(logZ, logZ) / float64(c.tokens)
	}
	p := NewPool(3)
	defer p.Close()
	var k RouterLosses[T]
	require.InEpsilon(t, balance(), k.Balance(p, s.logits, s.dispatch), tolerance)
	require.InEpsilon(t, 1+z(), 1+k.ZLoss(p, s.logits, c.tokens, c.experts), tolerance)
	got := make([]T, len(s.logits))
	k.BalanceGradient(p, got, s.logits, s.dispatch, -1.5)
	requireNear(t, scaled(slope(wide.logits, balance), -1.5), got, 1e-6, "balance")
	k.ZLossGradient(p, got, s.logits, c.tokens, c.experts, 0.25)
	requireNear(t, scaled(slope(wide.logits, z), 0.25), got, 1e-6, "z-loss")
}

func scaled(x []float64, factor float64) []float64 {
	for i := range x {
		x[i] *= factor
	}
	return x
}

// If all experts have the same load, the balance is 1.
func TestBalanceOfEqualLoads(t *testing.T) {
	const experts = 4
	d := NewDispatch(make([]int32, DispatchSize(experts, 1, experts)), experts, 1, experts)
	logits := make([]float64, experts*experts)
	for e := range experts {
		logits[e*experts+e] = 2
	}
	(&Route[float64]{}).Forward(nil, make([]float64, experts), logits, d)
	require.InDelta(t, 1, (&RouterLosses[float64]{}).Balance(nil, logits, d), 1e-14)
}

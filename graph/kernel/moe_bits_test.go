package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Compares the fast paths with the portable one.
func TestMoEPaths(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		run := func(p path) (*moeData[float32], *moeGradients[float32]) {
			s := newMoEData[float32](c)
			route, k := Route[float32]{path: p}, Experts[float32]{gemm: expertGemm[float32]{path: p}}
			s.forward(nil, &route, &k, c)
			g := newMoEGradients(s)
			s.backward(nil, &route, &k, g, c, false)
			return s, g
		}
		want, wantGradients := run(portable)
		for p := portable + 1; p <= machinePath; p++ {
			if !hasPath(p) {
				continue
			}
			got, gradients := run(p)
			require.Equal(t, want.dispatch.Choices, got.dispatch.Choices)
			requireNear(t, widen(want.y), got.y, 2e-5, pathNames[p])
			for name, x := range gradients.all() {
				requireNear(t, widen(wantGradients.all()[name]), x, 3e-5, pathNames[p]+" "+name)
			}
		}
	})
}

func TestMoESameBitsForAnyThreads(t *testing.T) {
	for _, c := range []moeCase{
		{tokens: 230, k: 2, experts: 7, width: 50, hidden: 90, bias: true},
		{tokens: 3, k: 2, experts: 7, width: 50, hidden: 200, bias: true}, // few rows are divided by columns
	} {
		run := func(threads int) (*moeData[float32], *moeGradients[float32]) {
			s := newMoEData[float32](c)
			p := NewPool(threads)
			defer p.Close()
			var route Route[float32]
			var k Experts[float32]
			s.forward(p, &route, &k, c)
			g := newMoEGradients(s)
			s.backward(p, &route, &k, g, c, false)
			return s, g
		}
		one, oneGradients := run(1)
		for _, threads := range threadCounts {
			s, g := run(threads)
			require.Equal(t, one, s, "%d threads", threads)
			require.Equal(t, oneGradients, g, "%d threads", threads)
		}
	}
}

func TestMoEWarmAllocatesNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		c := moeCase{tokens: 33, k: 2, experts: 4, width: 20, hidden: 40, bias: true}
		s := newMoEData[float32](c)
		p := NewPool(threads)
		defer p.Close()
		var route Route[float32]
		var k Experts[float32]
		var losses RouterLosses[float32]
		g := newMoEGradients(s)
		requireNoAllocations(t, func() {
			s.forward(p, &route, &k, c)
			s.backward(p, &route, &k, g, c, true)
			losses.Balance(p, s.logits, s.dispatch)
			losses.BalanceGradient(p, g.dlogits, s.logits, s.dispatch, 0.5)
			losses.ZLoss(p, s.logits, c.tokens, c.experts)
			losses.ZLossGradient(p, g.dlogits, s.logits, c.tokens, c.experts, 0.5)
		})
	}
}

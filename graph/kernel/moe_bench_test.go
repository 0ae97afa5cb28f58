package kernel

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkMoE compares a training step of 8 experts, 2 for each token, with that of a dense
// feed-forward with the same number of multiplications.
func BenchmarkMoE(b *testing.B) {
	for _, c := range []moeCase{
		{tokens: 2048, k: 2, experts: 8, width: 768, hidden: 1536},
		{tokens: 4096, k: 2, experts: 8, width: 256, hidden: 512},
		{tokens: 4096, k: 2, experts: 64, width: 256, hidden: 512},
		{tokens: 4096, k: 2, experts: 8, width: 256, hidden: 512, skewed: true},
	} {
		flops := 3 * 4 * float64(c.tokens*c.k*c.width*c.hidden)
		b.Run(fmt.Sprintf("experts/%+v", c), func(b *testing.B) {
			benchmarkMoE(b, c)
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
		b.Run(fmt.Sprintf("dense/%+v", c), func(b *testing.B) {
			benchmarkDense(b, c)
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
	}
}

func benchmarkMoE(b *testing.B, c moeCase) {
	s, p := newMoEData[float32](c), NewPool(runtime.GOMAXPROCS(0))
	defer p.Close()
	var route Route[float32]
	var k Experts[float32]
	var linear Gemm[float32]
	router, drouter := normals[float32](8, c.width*c.experts, 0.02), make([]float32, c.width*c.experts)
	s.logits = make([]float32, len(s.logits))
	g, du := newMoEGradients(s), make([]float32, len(s.u))
	var sum Add[float32]
	inputs := [][]float32{du, g.du}
	for b.Loop() {
		linear.Run(p, false, false, c.tokens, c.experts, c.width, 1, s.u, c.width, router, c.experts, 0, s.logits, c.experts)
		if c.skewed {
			for i := range s.logits {
				s.logits[i] -= float32(i%c.experts) / 2
			}
		}
		s.forward(p, &route, &k, c)
		s.backward(p, &route, &k, g, c, false)
		linear.Run(p, false, true, c.tokens, c.width, c.experts, 1, g.dlogits, c.experts, router, c.experts, 0, du, c.width)
		linear.Run(p, true, false, c.width, c.experts, c.tokens, 1, s.u, c.width, g.dlogits, c.experts, 0, drouter, c.experts)
		sum.Run(p, Of(g.du), floatRows(inputs), false)
	}
}

func benchmarkDense(b *testing.B, c moeCase) {
	p := NewPool(runtime.GOMAXPROCS(0))
	defer p.Close()
	hidden := c.k * c.hidden
	fresh := func(n int) []float32 { return normals[float32](1, n, 0.1) }
	u, y, dy, du := fresh(c.tokens*c.width), fresh(c.tokens*c.width), fresh(c.tokens*c.width), fresh(c.tokens*c.width)
	w1, w2, dw1, dw2 := fresh(c.width*hidden), fresh(c.width*hidden), fresh(c.width*hidden), fresh(c.width*hidden)
	h, a, dh := fresh(c.tokens*hidden), fresh(c.tokens*hidden), fresh(c.tokens*hidden)
	var gelu GemmElementwise[float32]
	var linear Gemm[float32]
	for b.Loop() {
		gelu.Run(p, false, c.tokens, hidden, c.width, u, w1, h, Activate[float32], [][]float32{a}, [][]float32{h}, float64(GeluTanh))
		linear.Run(p, false, false, c.tokens, c.width, hidden, 1, a, hidden, w2, c.width, 0, y, c.width)
		gelu.Run(p, true, c.tokens, hidden, c.width, dy, w2, dh, ActivateGradient[float32], [][]float32{dh}, [][]float32{dh, h}, float64(GeluTanh))
		linear.Run(p, true, false, hidden, c.width, c.tokens, 1, a, hidden, dy, c.width, 0, dw2, c.width)
		linear.Run(p, false, true, c.tokens, c.width, hidden, 1, dh, hidden, w1, hidden, 0, du, c.width)
		linear.Run(p, true, false, c.width, hidden, c.tokens, 1, u, c.width, dh, hidden, 0, dw1, hidden)
	}
}

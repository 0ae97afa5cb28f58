package kernel

import (
	"fmt"
	"testing"
)

// The reported speed counts what causal attention needs, half of the tiles: for each visible score,
// 2 products of 2*Dh floating-point operations forward and 5 backward.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []attentionCase{
		newAttentionCase(4, 512, 12, 64, false, 0, false),
		newAttentionCase(4, 512, 12, 64, true, 10000, false),
		newAttentionCase(4, 512, 12, 32, false, 0, false),
		newAttentionCase(16, 256, 8, 32, false, 0, false),
		newAttentionCase(16, 33, 4, 8, true, 0, false),
		newAttentionCase(8, 128, 8, 8, false, 0, false),
		newAttentionCase(8, 128, 4, 16, false, 0, false),
		newAttentionCase(1, 4096, 2, 64, false, 0, false),
		newAttentionCase(2, 1024, 4, 64, false, 0, false),
		newAttentionCase(2, 1024, 4, 64, false, 0, false).sliding(128, 0),
		newAttentionCase(2, 1024, 4, 64, false, 0, false).sliding(128, 4),
	} {
		p := NewPool(2)
		qkv, dout := castTo[float32](c.randomQKV(1)), castTo[float32](c.randomOut(2))
		out, lse, dqkv := make([]float32, len(dout)), make([]float32, c.Batch*c.Heads*c.Seq), make([]float32, len(qkv))
		var a Attention[float32]
		product := 2 * float64(c.Batch*c.Heads) * float64(c.Visible()) * float64(c.HeadDim)
		b.Run(fmt.Sprintf("forward/%v", c), func(b *testing.B) {
			for b.Loop() {
				a.Forward(p, Of(out), lse, Of(qkv), c.starts, c.AttentionParams)
			}
			b.ReportMetric(2*product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		})
		b.Run(fmt.Sprintf("backward/%v", c), func(b *testing.B) {
			for b.Loop() {
				a.Backward(p, Of(dqkv), Of(qkv), Of(out), Of(dout), lse, c.starts, c.AttentionParams)
			}
			b.ReportMetric(5*product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		})
		p.Close()
	}
}

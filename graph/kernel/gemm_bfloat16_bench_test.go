package kernel

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// trainingShapes are the products of models with 2048 tokens: forward, and the gradients of x and
// W.
var trainingShapes = []gemmCase{
	{m: 2048, n: 3072, k: 768}, {m: 2048, n: 768, k: 3072, tb: true}, {m: 768, n: 3072, k: 2048, ta: true},
	{m: 2048, n: 768, k: 3072}, {m: 2048, n: 3072, k: 768, tb: true}, {m: 3072, n: 768, k: 2048, ta: true},
	{m: 2048, n: 1536, k: 384}, {m: 2048, n: 384, k: 1536, tb: true}, {m: 384, n: 1536, k: 2048, ta: true},
	{m: 2048, n: 384, k: 1536}, {m: 2048, n: 1536, k: 384, tb: true}, {m: 1536, n: 384, k: 2048, ta: true},
	{m: 2048, n: 2304, k: 768}, {m: 2048, n: 768, k: 2304, tb: true}, {m: 768, n: 2304, k: 2048, ta: true},
	{m: 512, n: 8192, k: 768}, {m: 512, n: 768, k: 8192, tb: true}, {m: 768, n: 8192, k: 512, ta: true}, // pieces of a vocabulary
}

// BenchmarkGemmBFloat16 measures products of bfloat16 and of float32 by turns and reports the best
// of each in GFLOPS and their ratio: into float32, into bfloat16, and with a packed B.
func BenchmarkGemmBFloat16(b *testing.B) {
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	for _, g := range trainingShapes {
		g.alpha = 1
		b.Run(fmt.Sprintf("%dx%dx%d,%t,%t", g.m, g.n, g.k, g.ta, g.tb), func(b *testing.B) {
			o := makeOperands[float32](g)
			x, y, rounded := make([]BFloat16, len(o.a)), make([]BFloat16, len(o.b)), make([]BFloat16, len(o.c))
			RoundBFloat16(x, o.a)
			RoundBFloat16(y, o.b)
			var gemm Gemm[float32]
			var single GemmBFloat16[float32]
			var half GemmBFloat16[BFloat16]
			var weights WeightsBFloat16
			packed := weights.Pack(pool, g.tb, g.n, g.k, y, o.ldb)
			runs := []func(){
				func() { o.run(&gemm, pool) },
				func() { single.Run(pool, g.ta, g.tb, g.m, g.n, g.k, 1, x, o.lda, y, o.ldb, 0, o.c, o.ldc) },
				func() { half.Run(pool, g.ta, g.tb, g.m, g.n, g.k, 1, x, o.lda, y, o.ldb, 0, rounded, o.ldc) },
				func() { half.RunPacked(pool, g.ta, g.m, 1, x, o.lda, packed, 0, rounded, o.ldc) },
			}
			best := make([]time.Duration, len(runs))
			for i, run := range runs {
				run()
				best[i] = math.MaxInt64
			}
			b.ReportAllocs()
			for b.Loop() {
				for i, run := range runs {
					start := time.Now()
					run()
					best[i] = min(best[i], time.Since(start))
				}
			}
			for i, name := range []string{"float32", "toFloat32", "toBFloat16", "packed"} {
				b.ReportMetric(2*float64(g.m)*float64(g.n)*float64(g.k)/best[i].Seconds()/1e9, name+"-GFLOPS")
				if i > 0 {
					b.ReportMetric(best[0].Seconds()/best[i].Seconds(), name+"-ratio")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPairPaths measures one product of bfloat16 by every set of instructions that the machine
// has, by turns, and reports the best of each in GFLOPS.
func BenchmarkPairPaths(b *testing.B) {
	o := makePairOperands(gemmCase{m: 512, n: 768, k: 768, alpha: 1})
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	best := map[path]time.Duration{}
	for b.Loop() {
		for _, p := range []path{avx2, avx512Split, avx512, amx} {
			if !hasPairs(p) {
				continue
			}
			g := GemmBFloat16[float32]{path: p}
			start := time.Now()
			g.Run(pool, false, false, o.m, o.n, o.k, 1, o.a, o.lda, o.b, o.ldb, 0, o.operands.c, o.ldc)
			if d := time.Since(start); best[p] == 0 || d < best[p] {
				best[p] = d
			}
		}
	}
	for p, d := range best {
		b.ReportMetric(2*float64(o.m)*float64(o.n)*float64(o.k)/d.Seconds()/1e9, strings.ReplaceAll(p.String(), " ", "-")+"-GFLOPS")
	}
	b.ReportMetric(0, "ns/op")
}

package kernel

import (
	"fmt"
	"runtime"
	"testing"
)

// benchmarkShapes are products that occur in training: m, n, k and which operands are transposed.
var benchmarkShapes = []gemmCase{
	{m: 1024, n: 1024, k: 256},
	{m: 2048, n: 3072, k: 768},
	{m: 2048, n: 768, k: 3072},
	{m: 1024, n: 1024, k: 1024},
	{m: 2048, n: 3072, k: 768, tb: true},
	{m: 768, n: 3072, k: 2048, ta: true},
	{m: 512, n: 8192, k: 768},
	{m: 65536, n: 48, k: 32},
	{m: 65536, n: 32, k: 12},
	{m: 65536, n: 64, k: 64},
	{m: 65536, n: 128, k: 128},
	{m: 65536, n: 8, k: 8},
	{m: 32, n: 48, k: 65536, ta: true},
	{m: 1, n: 3072, k: 768},
	{m: 1, n: 3072, k: 768, tb: true},
}

func benchmarkGemm(b *testing.B, p path, shapes []gemmCase) {
	if !hasPath(p) {
		b.Skip("this processor lacks " + pathNames[p])
	}
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	for _, g := range shapes {
		g.alpha = 1
		b.Run(fmt.Sprintf("%dx%dx%d,%t,%t", g.m, g.n, g.k, g.ta, g.tb), func(b *testing.B) {
			o, gemm := makeOperands[float32](g), &Gemm[float32]{path: p}
			o.run(gemm, pool)
			for b.Loop() {
				o.run(gemm, pool)
			}
			reportSpeed(b, g)
		})
	}
}

// reportSpeed reports GFLOPS, two operations for each product of elements.
func reportSpeed(b *testing.B, g gemmCase) {
	b.ReportMetric(2*float64(g.m)*float64(g.n)*float64(g.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
}

func BenchmarkGemm(b *testing.B)         { benchmarkGemm(b, fastest, benchmarkShapes) }
func BenchmarkGemmAVX2(b *testing.B)     { benchmarkGemm(b, avx2, benchmarkShapes) }
func BenchmarkGemmPortable(b *testing.B) { benchmarkGemm(b, portable, benchmarkShapes[:1]) }

// BenchmarkGemmSerial runs the tiles of attention: heads of width 64 in rows of 36 heads (queries,
// keys and values of twelve).
func BenchmarkGemmSerial(b *testing.B) {
	for _, g := range []gemmCase{
		{m: 64, n: 64, k: 64, tb: true},
		{m: 64, n: 64, k: 64},
		{m: 64, n: 64, k: 64, ta: true},
		{m: 12, n: 64, k: 32},
		{m: 36, n: 64, k: 32},
		{m: 32, n: 64, k: 12, ta: true, beta: 1},
	} {
		for _, ld := range []int{0, 2304} {
			b.Run(fmt.Sprintf("%dx%dx%d,%t,%t,ld%d", g.m, g.n, g.k, g.ta, g.tb, ld), func(b *testing.B) {
				g.alpha, g.pad = 1, max(0, ld/2-64)
				o, gemm := makeOperands[float32](g), &Gemm[float32]{}
				for b.Loop() {
					o.runSerial(gemm)
				}
				reportSpeed(b, g)
			})
		}
	}
}

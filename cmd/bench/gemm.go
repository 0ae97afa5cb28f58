package main

import (
	"context"
	"fmt"
	"time"

	"github.com/residua-go/residua/graph/kernel"
)

// gemmShape is a product C [M, N] = op(A) [M, K] op(B) [K, N]; TA and TB tell whether A
// and B are stored transposed.
type gemmShape struct {
	M, K, N int
	TA, TB  bool
}

// gemmShapes are products of training: blocks' weights, the unembedding, a matrix
// stream's keys (tall and narrow).
func gemmShapes() []gemmShape {
	return []gemmShape{
		{M: 2048, K: 768, N: 3072},
		{M: 2048, K: 3072, N: 768},
		{M: 2048, K: 384, N: 1536},
		{M: 1024, K: 1024, N: 1024},
		{M: 2048, K: 768, N: 3072, TB: true},
		{M: 768, K: 2048, N: 3072, TA: true},
		{M: 2048, K: 384, N: 50257},
		{M: 65536, K: 32, N: 48},
		{M: 65536, K: 12, N: 32},
		{M: 65536, K: 64, N: 64},
		{M: 32, K: 65536, N: 48, TA: true},
	}
}

func (g gemmShape) flops() float64 { return 2 * float64(g.M) * float64(g.K) * float64(g.N) }

// String is "TN 32 x 65536 x 48", M x K x N.
func (g gemmShape) String() string {
	letter := map[bool]string{false: "N", true: "T"}
	return fmt.Sprintf("%s%s %d x %d x %d", letter[g.TA], letter[g.TB], g.M, g.K, g.N)
}

// product is a shape with its operands.
type product struct {
	shape   gemmShape
	a, b, c []float32
	gemm    kernel.Gemm[float32]
}

func newProduct(g gemmShape) *product {
	p := &product{shape: g, a: make([]float32, g.M*g.K), b: make([]float32, g.K*g.N), c: make([]float32, g.M*g.N)}
	for i := range p.a {
		p.a[i] = float32(i%7) - 3
	}
	for i := range p.b {
		p.b[i] = float32(i%5) - 2
	}
	return p
}

func (p *product) run(pool *kernel.Pool) {
	g := p.shape
	lda, ldb := g.K, g.N
	if g.TA {
		lda = g.M
	}
	if g.TB {
		ldb = g.K
	}
	p.gemm.Run(pool, g.TA, g.TB, g.M, g.N, g.K, 1, p.a, lda, p.b, ldb, 0, p.c, g.N)
}

// gemmResult is a shape's line.
type gemmResult struct {
	Shape   string  `json:"shape"`
	Ours    float64 `json:"ours_gflops"`
	Share   float64 `json:"peak_share"`
	PyTorch float64 `json:"pytorch_gflops,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"` // ours over PyTorch's
}

// turnTime is how long a shape is repeated in one turn.
const turnTime = 100 * time.Millisecond

// gemms measures the shapes; theirs is PyTorch's process, or nil.
func gemms(ctx context.Context, m *machine, rounds int, shapes []gemmShape, theirs *process) ([]gemmResult, error) {
	var results []gemmResult
	for _, g := range shapes {
		m.look()
		p := newProduct(g)
		p.run(m.pool)
		var mine, other []float64
		for range rounds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			mine = append(mine, times(turnTime, func() { p.run(m.pool) })...)
			if theirs == nil {
				continue
			}
			r, err := theirs.ask(fmt.Sprintf("%d %d %d %t %t %g", g.M, g.K, g.N, g.TA, g.TB, turnTime.Seconds()))
			if err != nil {
				return nil, err
			}
			other = append(other, r.Seconds...)
		}
		results = append(results, newGemmResult(g, median(mine), median(other)))
	}
	for i := range results {
		results[i].Share = results[i].Ours / m.PeakGFLOPS
	}
	return results, nil
}

// newGemmResult turns seconds a product into a line; theirs is 0 where there is none.
func newGemmResult(g gemmShape, mine, theirs float64) gemmResult {
	r := gemmResult{Shape: g.String(), Ours: g.flops() / mine / 1e9}
	if theirs > 0 {
		r.PyTorch, r.Ratio = g.flops()/theirs/1e9, theirs/mine
	}
	return r
}

// times repeats f, at least twice, for about the given time and returns the seconds of
// each call.
func times(atLeast time.Duration, f func()) []float64 {
	var seconds []float64
	for begin := time.Now(); len(seconds) < 2 || time.Since(begin) < atLeast; {
		start := time.Now()
		f()
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds
}

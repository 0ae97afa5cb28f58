package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/internal/stats"
)

// productShape is a product C [M, N] = op(A) [M, K] op(B) [K, N]; TA and TB tell whether A
// and B are stored transposed.
type productShape struct {
	M, K, N int
	TA, TB  bool
}

// productShapes returns products that occur in training: blocks' weights, the unembedding, a matrix
// stream's keys (tall and narrow).
func productShapes() []productShape {
	return []productShape{
		{M: 2048, K: 768, N: 3072},
		{M: 2048, K: 3072, N: 768},
		{M: 2048, K: 384, N: 1536},
		{M: 1024, K: 1024, N: 1024},
		{M: peakSide, K: peakSide, N: peakSide},
		{M: 2048, K: 768, N: 3072, TB: true},
		{M: 768, K: 2048, N: 3072, TA: true},
		{M: 2048, K: 384, N: 50257},
		{M: 65536, K: 32, N: 48},
		{M: 65536, K: 12, N: 32},
		{M: 65536, K: 64, N: 64},
		{M: 32, K: 65536, N: 48, TA: true},
	}
}

func (g productShape) flops() float64 { return 2 * float64(g.M) * float64(g.K) * float64(g.N) }

// String describes the product, as in "TN 32 x 65536 x 48": whether the operands are stored
// transposed, M x K x N.
func (g productShape) String() string {
	letter := map[bool]string{false: "N", true: "T"}
	return fmt.Sprintf("%s%s %d x %d x %d", letter[g.TA], letter[g.TB], g.M, g.K, g.N)
}

// product is a shape with its operands.
type product struct {
	shape   productShape
	a, b, c []float32
	gemm    kernel.Gemm[float32]
}

func newProduct(g productShape) *product {
	p := &product{shape: g, a: make([]float32, g.M*g.K), b: make([]float32, g.K*g.N), c: make([]float32, g.M*g.N)}
	for i := range p.a {
		p.a[i] = float32(i%7) - 3
	}
	for i := range p.b {
		p.b[i] = float32(i%5) - 2
	}
	return p
}

// distances returns the distances between the stored rows of both operands.
func (g productShape) distances() (a, b int) {
	a, b = g.K, g.N
	if g.TA {
		a = g.M
	}
	if g.TB {
		b = g.K
	}
	return a, b
}

func (p *product) run(pool *kernel.Pool) {
	g := p.shape
	lda, ldb := g.distances()
	p.gemm.Run(pool, g.TA, g.TB, g.M, g.N, g.K, 1, p.a, lda, p.b, ldb, 0, p.c, g.N)
}

// in returns a function that multiplies the operands in a precision: in bfloat16, with sums in
// float32, or in float32.
func (p *product) in(precision graph.Precision) func(*kernel.Pool) {
	if precision != graph.BF16 {
		return p.run
	}
	var gemm kernel.GemmBFloat16[kernel.BFloat16]
	a, b, c := make([]kernel.BFloat16, len(p.a)), make([]kernel.BFloat16, len(p.b)), make([]kernel.BFloat16, len(p.c))
	kernel.RoundBFloat16(a, p.a)
	kernel.RoundBFloat16(b, p.b)
	g := p.shape
	lda, ldb := g.distances()
	return func(pool *kernel.Pool) { gemm.Run(pool, g.TA, g.TB, g.M, g.N, g.K, 1, a, lda, b, ldb, 0, c, g.N) }
}

// ProductResult is the speed of a matrix product.
type ProductResult struct {
	Shape   string  `json:"shape"` // as in "TN 32 x 65536 x 48": whether the operands are stored transposed, M x K x N
	GFLOPS  float64 `json:"ours_gflops"`
	Share   float64 `json:"peak_share"`
	PyTorch float64 `json:"pytorch_gflops,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"` // GFLOPS divided by PyTorch's
}

// turnTime is how long a shape is repeated in one turn.
const turnTime = 100 * time.Millisecond

// Products measures matrix products, compared with PyTorch's if that is asked for. It fills
// Report.Products.
func (b *Bench) Products(ctx context.Context) error {
	b.note("matrix products")
	var theirs *worker
	if b.o.PyTorch != nil {
		w, err := b.o.PyTorch.startProducts(ctx, b.o.Target)
		if err == nil {
			defer func() { _ = w.close() }()
			err = w.open()
		}
		if err == nil {
			theirs = w
		} else if err := b.failed(ctx, "PyTorch's products", err); err != nil {
			return err
		}
	}
	return b.products(ctx, productShapes(), theirs)
}

// products measures the shapes; theirs is PyTorch's worker, or nil.
func (b *Bench) products(ctx context.Context, shapes []productShape, theirs *worker) error {
	b.begin(slices.Repeat([]float64{1}, len(shapes)))
	for _, g := range shapes {
		share := b.part()
		b.report.Machine.measure(b.pool)
		multiply := newProduct(g).in(b.o.Target.Precision)
		multiply(b.pool)
		var own, other []float64
		for round := range b.o.Rounds {
			share(float64(round) / float64(b.o.Rounds))
			if err := ctx.Err(); err != nil {
				return err
			}
			own = append(own, times(turnTime, func() { multiply(b.pool) })...)
			if !theirs.ok() {
				continue
			}
			r, err := theirs.ask(fmt.Sprintf("%d %d %d %t %t %g", g.M, g.K, g.N, g.TA, g.TB, turnTime.Seconds()))
			if err != nil {
				theirs.failed = true
				if err := b.failed(ctx, theirs.name, err); err != nil {
					return err
				}
			}
			other = append(other, r.Seconds...)
		}
		b.report.Products = append(b.report.Products, newProductResult(g, stats.Median(own), stats.Median(other)))
		if err := b.save(); err != nil {
			return err
		}
	}
	return nil
}

// newProductResult turns seconds for a product into a row; theirs is 0 if there is none.
func newProductResult(g productShape, own, theirs float64) ProductResult {
	r := ProductResult{Shape: g.String(), GFLOPS: g.flops() / own / 1e9}
	if theirs > 0 {
		r.PyTorch, r.Ratio = g.flops()/theirs/1e9, theirs/own
	}
	return r
}

// times repeats f for about the given time, at least twice, and returns the seconds of each call.
func times(atLeast time.Duration, f func()) []float64 {
	var seconds []float64
	for begin := time.Now(); len(seconds) < 2 || time.Since(begin) < atLeast; {
		start := time.Now()
		f()
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds
}

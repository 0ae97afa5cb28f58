package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/kernel"
)

// TestProductsAreTheirShapes compares each way of storing the operands with sums by hand.
func TestProductsAreTheirShapes(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, g := range []productShape{{M: 5, K: 7, N: 9}, {M: 5, K: 7, N: 9, TA: true}, {M: 5, K: 7, N: 9, TB: true}} {
		p := newProduct(g)
		p.run(pool)
		for i := range g.M {
			for j := range g.N {
				var want float32
				for l := range g.K {
					a, b := i*g.K+l, l*g.N+j
					if g.TA {
						a = l*g.M + i
					}
					if g.TB {
						b = j*g.K + l
					}
					want += p.a[a] * p.b[b]
				}
				require.Equal(t, want, p.c[i*g.N+j], "%s at %d, %d", g, i, j)
			}
		}
	}
}

func TestProducts(t *testing.T) {
	b, err := New(Options{Rounds: 1, Target: Target{Threads: 1}})
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.products(context.Background(), []productShape{{M: 64, K: 32, N: 48}, {M: 8, K: 300, N: 4, TA: true}}, nil))
	results, m := b.Report().Products, b.Report().Machine
	require.Len(t, results, 2)
	assert.Equal(t, "NN 64 x 32 x 48", results[0].Shape)
	assert.Equal(t, "TN 8 x 300 x 4", results[1].Shape)
	for _, r := range results {
		assert.Positive(t, r.GFLOPS)
		assert.InEpsilon(t, r.GFLOPS/m.PeakGFLOPS, r.Share, 1e-9)
		assert.Zero(t, r.PyTorch)
	}
	assert.Positive(t, m.CopyGBs)
}

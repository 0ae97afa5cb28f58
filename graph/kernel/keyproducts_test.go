package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeyProducts: whichever operand is transposed, and however many tokens a call has, the total
// has the same bits.
func TestKeyProducts(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, path path) {
		p := NewPool(1)
		defer p.Close()
		const r, dk, dv, tokens = 16, 32, 20, 5
		draw := rand.New(rand.NewPCG(1, 2))
		fresh := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(draw.NormFloat64())
			}
			return x
		}
		y, x, before := fresh(tokens*r*dv), fresh(tokens*dk*dv), fresh(r*dk)
		total := func(smaller bool, atOnce int) []float32 {
			out := append([]float32(nil), before...)
			var k keyProducts[float32]
			k.want(p, path, out, true, r, dk, dv)
			require.True(t, k.smaller)
			require.LessOrEqual(t, atOnce, k.atOnce)
			if k.smaller = smaller; !smaller {
				k.block = newBlock[float32](path, r, dk, dv, false)
				k.turned = growRows(k.turned, p, k.atOnce*dk*dv)
			}
			sum := k.begin(0)
			for i := 0; i < tokens; i += atOnce {
				n := min(atOnce, tokens-i)
				k.add(0, n, sum.block, y[i*r*dv:][:n*r*dv], x[i*dk*dv:][:n*dk*dv])
			}
			sum.end(0)
			k.store(p)
			return out
		}
		want := total(false, 1)
		for atOnce := 1; atOnce <= 3; atOnce++ {
			require.Equal(t, want, total(true, atOnce))
			require.Equal(t, want, total(false, atOnce))
		}
	})
}

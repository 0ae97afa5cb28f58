package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGemmBFloat16NoAccessOutside runs products and packing on operands next to forbidden pages.
func TestGemmBFloat16NoAccessOutside(t *testing.T) {
	forEachBFloat16Path(t, func(t *testing.T, p path) {
		for _, s := range [][3]int{{1, 1, 1}, {15, 17, 33}, {33, 131, 401}, {32, 48, 1601}, {300, 33, 80}, {7, 96, 31}, {129, 257, 65}, {13, 300, 20}} {
			if p == portable && s[0]*s[1]*s[2] > 1<<20 {
				continue
			}
			for _, g := range gemmVariants(s) {
				o := makePairOperands(g)
				want := o.runSingle(&GemmBFloat16[float32]{path: p}, nil)
				for _, atEnd := range []bool{true, false} {
					a, b, c := guarded(t, o.a, atEnd), guarded(t, o.b, atEnd), guarded(t, o.operands.c, atEnd)
					(&GemmBFloat16[float32]{path: p}).Run(nil, g.ta, g.tb, g.m, g.n, g.k, float32(g.alpha), a, o.lda, b, o.ldb, float32(g.beta), c, o.ldc)
					requireSameFloats(t, want, c, g)
					half := guarded(t, o.c, atEnd)
					(&GemmBFloat16[BFloat16]{path: p}).Run(nil, g.ta, g.tb, g.m, g.n, g.k, float32(g.alpha), a, o.lda, b, o.ldb, float32(g.beta), half, o.ldc)
					require.Equal(t, o.rounds(want), half, "%v", g)
					c = guarded(t, o.operands.c, atEnd)
					packed := (&WeightsBFloat16{path: p}).PackFloat32(nil, g.tb, g.n, g.k, guarded(t, o.operands.b, atEnd), o.ldb)
					(&GemmBFloat16[float32]{path: p}).RunPacked(nil, g.ta, g.m, float32(g.alpha), a, o.lda, packed, float32(g.beta), c, o.ldc)
					requireSameFloats(t, want, c, g)
				}
			}
		}
	})
}

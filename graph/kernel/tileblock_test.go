package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// TestTileBlockLayout checks that tileBlock has the layout that internal/asmgen writes into the
// assembly.
func TestTileBlockLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the assembly is for 64-bit processors")
	}
	var x tileBlock
	assert.EqualValues(t, 64+8*21, unsafe.Sizeof(x))
	assert.EqualValues(t, 16, unsafe.Offsetof(x.shapes.bytes))
	assert.EqualValues(t, 48, unsafe.Offsetof(x.shapes.rows))
	for i, offset := range []uintptr{
		unsafe.Offsetof(x.a), unsafe.Offsetof(x.b), unsafe.Offsetof(x.c), unsafe.Offsetof(x.d), unsafe.Offsetof(x.tail), unsafe.Offsetof(x.sums),
		unsafe.Offsetof(x.as), unsafe.Offsetof(x.ak), unsafe.Offsetof(x.bs), unsafe.Offsetof(x.bk), unsafe.Offsetof(x.cs),
		unsafe.Offsetof(x.steps), unsafe.Offsetof(x.blocks), unsafe.Offsetof(x.an), unsafe.Offsetof(x.bn), unsafe.Offsetof(x.cn), unsafe.Offsetof(x.tn),
		unsafe.Offsetof(x.sn), unsafe.Offsetof(x.keep), unsafe.Offsetof(x.rows), unsafe.Offsetof(x.columns),
	} {
		assert.EqualValues(t, 64+8*i, offset)
	}
}

// needTiles skips a test on machines without AMX.
func needTiles(t *testing.T) {
	if tilesMissing != "" {
		t.Skip("no AMX: " + tilesMissing)
	}
}

// tileOperands holds the operands of a tileBlock: 16 rows of A, 32 columns of B, C and D.
type tileOperands struct {
	a, b []BFloat16
	c, d []float32
}

// call returns a block over the operands with the given number of steps; a tail is the last step.
func (o *tileOperands) call(steps int, tail, keep bool) tileBlock {
	x := tileBlock{
		a: unsafe.Pointer(&o.a[0]), as: tileBytes * steps, ak: tileBytes,
		b: unsafe.Pointer(&o.b[0]), bs: 4 * tilePanel, bk: 2 * tileK * tilePanel,
		c: unsafe.Pointer(&o.c[0]), d: unsafe.Pointer(&o.d[0]), cs: 4 * tilePanel,
		steps: steps, blocks: 1,
	}
	if tail {
		rows := make([]BFloat16, tileRows*tileK)
		for i := range tileRows {
			copy(rows[i*tileK:], o.a[(i*steps+steps-1)*tileK:][:tileK])
		}
		x.steps, x.tail = steps-1, unsafe.Pointer(&rows[0])
	}
	if keep {
		x.keep = 1
	}
	return x
}

// draw fills the operands with numbers of one of several kinds: any bits, sums of like magnitude,
// near the smallest or the largest numbers, ordinary ones of which many cancel.
func (o *tileOperands) draw(r *rand.Rand, kind int) {
	ea, eb, ec := -1, -1, -1
	switch kind % 6 {
	case 1, 2:
		ea, eb = r.IntN(255), r.IntN(255)
		ec = min(254, max(0, ea+eb-127+r.IntN(60)-30))
	case 3:
		ea = r.IntN(255)
		eb, ec = min(254, max(0, 127-ea+r.IntN(80)-40)), r.IntN(40)
	case 4:
		ea = 127 + r.IntN(128)
		eb, ec = min(254, 381-ea+r.IntN(20)-10), 254
	case 5:
		copy(o.a, randomBFloat16(r, len(o.a)))
		copy(o.b, randomBFloat16(r, len(o.b)))
		copy(o.d, uniformSlice[float32](r, len(o.d)))
		for i := 2; i < len(o.a); i += 4 {
			o.a[i] = o.a[i-2] ^ 0x8000
		}
		return
	}
	for i := range o.a {
		o.a[i] = BFloat16(randomBits(r, ea) >> 16)
	}
	for i := range o.b {
		o.b[i] = BFloat16(randomBits(r, eb) >> 16)
	}
	for i := range o.d {
		o.d[i] = math.Float32frombits(randomBits(r, ec))
	}
}

// TestTileBlocks compares TDPBF16PS, as the micro-kernels use it, with sumTiles: every
// micro-kernel, shapes of tiles, a tail, sums that begin at D, and numbers of all kinds.
func TestTileBlocks(t *testing.T) {
	needTiles(t)
	rounds := 3000
	switch {
	case longtest.Exhaustive():
		rounds *= 20
	case longtest.Enabled():
		rounds *= 3
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		steps, rows, columns := 1+r.IntN(3), 1+r.IntN(tileRows), 1+r.IntN(tilePanel)
		if round%3 == 0 {
			rows, columns = tileRows, tilePanel
		}
		o := tileOperands{make([]BFloat16, tileRows*steps*tileK), make([]BFloat16, steps*tileK*tilePanel), make([]float32, tileRows*tilePanel), make([]float32, tileRows*tilePanel)}
		o.draw(r, round)
		want, sums, got := make([]float32, len(o.c)), slices.Clone(o.d), o.c
		for i, kernels := range []*microkernels{&portableTiles, &amxPairs} {
			o.c = [][]float32{want, got}[i]
			x := o.call(steps, round%2 == 0, round%5 < 3)
			x.run(kernels, rows, columns, false)
		}
		requireSameFloats(t, want, got, round)
		half := [2][]BFloat16{make([]BFloat16, len(want)), make([]BFloat16, len(want))}
		for i, kernels := range []*microkernels{&portableTiles, &amxPairs} {
			kept := slices.Clone(sums)
			x := o.call(steps, round%2 == 0, round%5 < 3)
			x.c, x.cs, x.sums = unsafe.Pointer(&half[i][0]), 2*tilePanel, unsafe.Pointer(&kept[0])
			x.run(kernels, rows, columns, true)
		}
		for i := range half[0] {
			if x, y := half[0][i].Float32(), half[1][i].Float32(); x == x || y == y {
				require.Equal(t, half[0][i], half[1][i], "round %d at %d", round, i)
			}
		}
	}
}

// TestSumTiles checks sumTiles by hand where it differs from other orders: elements of even k are
// summed apart from those of odd k, both from zero, and denormals count as zero.
func TestSumTiles(t *testing.T) {
	pairs := func(values ...float32) *[2]BFloat16 {
		s := make([]BFloat16, tileK)
		for i, v := range values {
			s[i] = toBFloat16(v)
		}
		return (*[2]BFloat16)(s)
	}
	ones := pairs(slices.Repeat([]float32{1}, tileK)...)
	assert.Equal(t, float32(0), sumTiles(0, pairs(0x1p60, 0, -0x1p60, 0), ones, 4), "elements 0 and 2 cancel")
	assert.Equal(t, float32(1), sumTiles(0, pairs(0x1p60, 1, -0x1p60), ones, 4), "1 is summed apart from 2^60")
	assert.Equal(t, float32(0), sumTiles(0, pairs(0x1p60, 0, 1, 0, -0x1p60), ones, 4), "1 is lost beside 2^60")
	assert.Equal(t, float32(0x1p30), sumTiles(0x1p30, pairs(1, 1), ones, 4), "c is added last")
	assert.Equal(t, float32(0), sumTiles(0x1p-130, pairs(0x1p-130), ones, 4), "denormals")
	assert.True(t, math.IsNaN(float64(sumTiles(0, pairs(float32(math.Inf(1)), float32(math.Inf(-1))), ones, 4))))
}

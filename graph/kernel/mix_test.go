package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

func testMixRead[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := &MixRead[T]{path: p}
		for _, d := range mixCases() {
			o := newMixOperands[T](d)
			wantU, wantH, wantC := wantMixRead(d, o)
			u := unset[T](len(o.du))
			k.Forward(pool, u, o.h, o.c, d)
			requireSums(t, d, u, wantU, d.N)
			dh, dc := unset[T](len(o.h)), unset[T](len(o.c))
			k.Backward(pool, MixGrads[T]{H: dh, C: dc}, o.du, o.h, o.c, d)
			requireSums(t, d, dh, wantH, d.M)
			requireSums(t, d, dc, wantC, d.Tokens*d.D)
			copy(dc, o.c)
			k.Backward(pool, MixGrads[T]{H: dh, AddendH: o.addend, C: dc, AddendC: o.addendC, AddToC: true}, o.du, o.h, o.c, d)
			requireSums(t, d, dh, plus(wantH, o.addend), d.M)
			requireSums(t, d, dc, plus(plus(wantC, o.c), o.addendC), d.Tokens*d.D)
			k.Backward(pool, MixGrads[T]{H: o.addend, AddendH: o.addend}, o.du, o.h, o.c, d)
			require.Equal(t, dh, o.addend, "in place")
		}
	})
}

func TestMixRead(t *testing.T) {
	testMixRead[float32](t)
	testMixRead[float64](t)
}

func testMixWrite[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := &MixWrite[T]{path: p}
		for _, d := range mixCases() {
			o := newMixOperands[T](d)
			want, wantH, wantY, wantC := wantMixWrite(d, o)
			out := unset[T](len(o.h))
			k.Forward(pool, out, o.h, o.y, o.c, d)
			requireSums(t, d, out, want, d.N+d.M)
			dh, dy, dc := unset[T](len(o.h)), unset[T](len(o.y)), unset[T](len(o.c))
			k.Backward(pool, MixGrads[T]{H: dh, Y: dy, C: dc}, o.dout, o.h, o.y, o.c, d)
			requireSums(t, d, dh, wantH, d.N)
			requireSums(t, d, dy, wantY, d.N)
			requireSums(t, d, dc, wantC, d.Tokens*d.D)
			copy(dc, o.c)
			copy(dy, o.y)
			k.Backward(pool, MixGrads[T]{H: dh, AddendH: o.addend, Y: dy, C: dc, AddendC: o.addendC, AddToY: true, AddToC: true}, o.dout, o.h, o.y, o.c, d)
			requireSums(t, d, dh, plus(wantH, o.addend), d.N)
			requireSums(t, d, dy, plus(wantY, o.y), d.N)
			requireSums(t, d, dc, plus(plus(wantC, o.c), o.addendC), d.Tokens*d.D)
			testMixWriteInPlace(t, k, d, o, out, dh)
		}
	})
}

// testMixWriteInPlace checks that the bits are the same if results overwrite operands.
func testMixWriteInPlace[T Float](t *testing.T, k *MixWrite[T], d MixParams, o mixOperands[T], out, dh []T) {
	t.Helper()
	same := slices.Clone(o.addend)
	k.Backward(nil, MixGrads[T]{H: same, AddendH: same}, o.dout, o.h, o.y, o.c, d)
	require.Equal(t, dh, same, "dh over the addend")
	same = slices.Clone(o.dout)
	k.Backward(nil, MixGrads[T]{H: same, AddendH: o.addend}, same, o.h, o.y, o.c, d)
	require.Equal(t, dh, same, "dh over dout")
	same = slices.Clone(o.h)
	k.Forward(nil, same, same, o.y, o.c, d)
	require.Equal(t, out, same, "out over h")
}

func TestMixWrite(t *testing.T) {
	testMixWrite[float32](t)
	testMixWrite[float64](t)
}

func TestMixSameBitsForAnyThreads(t *testing.T) {
	for _, shared := range []bool{false, true} {
		d := MixParams{Tokens: 301, N: 4, M: 2, D: 48, Shared: shared}
		o := newMixOperands[float32](d)
		requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 { return runMixes(p, d, o) })
	}
}

// runMixes runs both kernels, forward and backward.
func runMixes(pool *Pool, d MixParams, o mixOperands[float32]) [][]float32 {
	u, out, dh, dh2, dy := slices.Clone(o.du), slices.Clone(o.h), slices.Clone(o.h), slices.Clone(o.h), slices.Clone(o.y)
	dc, dc2 := slices.Clone(o.c), slices.Clone(o.c)
	new(MixRead[float32]).Forward(pool, u, o.h, o.c, d)
	new(MixRead[float32]).Backward(pool, MixGrads[float32]{H: dh, C: dc}, o.du, o.h, o.c, d)
	new(MixWrite[float32]).Forward(pool, out, o.h, o.y, o.c, d)
	new(MixWrite[float32]).Backward(pool, MixGrads[float32]{H: dh2, Y: dy, C: dc2}, o.dout, o.h, o.y, o.c, d)
	return [][]float32{u, out, dh, dh2, dy, dc, dc2}
}

// TestMixManyTokens sums terms of the same sign over many tokens, for which a single running sum in
// float32 would not be precise enough.
func TestMixManyTokens(t *testing.T) {
	d := MixParams{Tokens: 16384, N: 2, M: 1, D: 3, Shared: true}
	if longtest.Enabled() {
		d.Tokens = 65536
	}
	o := newMixOperands[float32](d)
	for _, v := range [][]float32{o.h, o.dout, o.y, o.du} {
		for i := range v {
			v[i] = 1 + v[i]/8
		}
	}
	_, _, wantRead := wantMixRead(d, o)
	_, _, _, wantWrite := wantMixWrite(d, o)
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[float32](t, func(t *testing.T, p path) {
		dh, dc := make([]float32, len(o.h)), make([]float32, len(o.c))
		(&MixRead[float32]{path: p}).Backward(pool, MixGrads[float32]{H: dh, C: dc}, o.du, o.h, o.c, d)
		(&MixWrite[float32]{path: p}).Backward(pool, MixGrads[float32]{H: dh, C: dc, AddToC: true}, o.dout, o.h, o.y, o.c, d)
		for i, v := range dc {
			require.InEpsilon(t, wantRead.value[i]+wantWrite.value[i], v, 2e-6)
		}
	})
}

func TestMixAllocatesNothingWarm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, shared := range []bool{false, true} {
			d := MixParams{Tokens: 40, N: 17, M: 2, D: 48, Shared: shared}
			o := newMixOperands[float32](d)
			read, write := &MixRead[float32]{path: p}, &MixWrite[float32]{path: p}
			assert.Zero(t, testing.AllocsPerRun(3, func() { read.Forward(pool, o.du, o.h, o.c, d) }))
			assert.Zero(t, testing.AllocsPerRun(3, func() {
				read.Backward(pool, MixGrads[float32]{H: o.dout, C: o.addendC, AddToC: true}, o.du, o.h, o.c, d)
			}))
			assert.Zero(t, testing.AllocsPerRun(3, func() { write.Forward(pool, o.h, o.h, o.y, o.c, d) }))
			assert.Zero(t, testing.AllocsPerRun(3, func() {
				write.Backward(pool, MixGrads[float32]{H: o.dout, Y: o.du, C: o.addendC, AddToC: true}, o.dout, o.h, o.y, o.c, d)
			}))
		}
	})
}

// BenchmarkMix measures both kernels at the sizes of hyper-connections and virtual width networks,
// and reports the bytes that must pass once between memory and processor.
func BenchmarkMix(b *testing.B) {
	for _, s := range [][4]int{{4096, 4, 1, 256}, {2048, 4, 1, 768}, {2048, 3, 2, 384}, {1024, 64, 8, 96}} {
		for _, shared := range []bool{true, false} {
			benchmarkMix(b, MixParams{Tokens: s[0], N: s[1], M: s[2], D: s[3], Shared: shared})
		}
	}
}

func benchmarkMix(b *testing.B, d MixParams) {
	pool := NewPool(2)
	defer pool.Close()
	o := newMixOperands[float32](d)
	read, write, add := &MixRead[float32]{}, &MixWrite[float32]{}, &Add[float32]{}
	out, dc := make([]float32, len(o.h)), make([]float32, len(o.c))
	time := func(name string, streams, rows int, run func()) {
		b.Run(fmt.Sprintf("%s/%v", name, d), func(b *testing.B) {
			b.SetBytes(int64(4 * (streams*len(o.h) + rows*len(o.y))))
			for b.Loop() {
				run()
			}
		})
	}
	time("copy", 2, 0, func() { add.Run(pool, Of(out), floatRows([][]float32{o.h}), false) })
	time("read", 1, 1, func() { read.Forward(pool, o.du, o.h, o.c, d) })
	time("readgrad", 2, 1, func() { read.Backward(pool, MixGrads[float32]{H: out, C: dc}, o.du, o.h, o.c, d) })
	time("readgrad added", 2, 1, func() {
		read.Backward(pool, MixGrads[float32]{H: out, AddendH: out, C: dc}, o.du, o.h, o.c, d)
	})
	time("write", 2, 1, func() { write.Forward(pool, out, o.h, o.y, o.c, d) })
	time("writegrad", 3, 2, func() { write.Backward(pool, MixGrads[float32]{H: out, Y: o.du, C: dc}, o.dout, o.h, o.y, o.c, d) })
	time("writegrad in place", 3, 2, func() { write.Backward(pool, MixGrads[float32]{H: o.dout, Y: o.du, C: dc}, o.dout, o.h, o.y, o.c, d) })
}

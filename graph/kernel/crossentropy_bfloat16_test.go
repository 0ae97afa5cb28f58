package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halfLoss holds a CrossEntropyBFloat16 and what it reads.
type halfLoss struct {
	kernel            CrossEntropyBFloat16
	args              CrossEntropyArgs[float32]
	operands          CrossEntropyOperands
	forward, backward WeightsBFloat16
}

// newHalfLoss rounds the inputs of a case, also those in args, and packs them.
func newHalfLoss(p *Pool, a CrossEntropyArgs[float32], on path) *halfLoss {
	k := &halfLoss{args: a, kernel: CrossEntropyBFloat16{path: on}, forward: WeightsBFloat16{path: on}, backward: WeightsBFloat16{path: on}}
	for _, x := range [][]float32{a.Features, a.Weight} {
		roundInPlace(x)
	}
	k.operands.Features = make([]BFloat16, len(a.Features))
	RoundBFloat16(k.operands.Features, a.Features)
	ld := choose(a.Transposed, a.F, a.Vocab)
	k.operands.Logits = k.forward.PackFloat32(p, a.Transposed, a.Vocab, a.F, a.Weight, ld)
	k.operands.Gradient = k.backward.PackFloat32(p, !a.Transposed, a.F, a.Vocab, a.Weight, ld)
	return k
}

func (k *halfLoss) run(t testing.TB, p *Pool) (crossEntropy, zLoss float64) {
	crossEntropy, zLoss, err := k.kernel.Run(p, k.args, k.operands)
	require.NoError(t, err)
	return crossEntropy, zLoss
}

// halfLossCases returns the cases of CrossEntropy and vocabularies of several slices and pieces.
func halfLossCases() []crossEntropyCase {
	return append(crossEntropyCases(), crossEntropyCase{31, 6, 2*lossPiece + lossSlice + 3, false, 1, 0.1, 4}, crossEntropyCase{119, 7, lossSlice + 1, true, 0.5, 0, 3})
}

// TestCrossEntropyBFloat16EqualsReference: for inputs in bfloat16, losses are exact except for
// float32 sums, and gradients except for the rounding of dlogits to bfloat16.
func TestCrossEntropyBFloat16EqualsReference(t *testing.T) {
	for _, c := range halfLossCases() {
		for _, chunk := range []int{1, 5, 1000} {
			for _, softCap := range []float64{0, 1.5} {
				a := crossEntropyInputs[float32](c)
				a.SoftCap = softCap
				k := newHalfLoss(nil, a, 0)
				wide := crossEntropyInputs[float64](c)
				wide.Features, wide.Weight, wide.SoftCap = castTo64(a.Features), castTo64(a.Weight), softCap
				wantCE, wantZ := runCrossEntropy(t, 1, 0, wide)
				k.kernel.bytes = 4 * chunk * (c.vocab + 15)
				p := NewPool(2)
				crossEntropy, zLoss := k.run(t, p)
				p.Close()
				name := fmt.Sprintf("%v, chunks of %d, capped at %g", c, chunk, softCap)
				assert.InDelta(t, wantCE, crossEntropy, 2e-6*(1+wantCE), name)
				assert.InDelta(t, wantZ, zLoss, 2e-6*(1+wantZ), name)
				assert.Less(t, worstError(a.Losses, wide.Losses), 2e-6, name)
				assert.Less(t, worstError(a.DFeatures, wide.DFeatures), 0x1p-8, name)
				assert.Less(t, worstError(a.DWeight, wide.DWeight), 0x1p-8, name)
				assert.Equal(t, wide.Hits, a.Hits, name)
			}
		}
	}
}

// TestCrossEntropyBFloat16HasTheSameBits for any number of threads, and in a second run.
func TestCrossEntropyBFloat16HasTheSameBits(t *testing.T) {
	for _, c := range halfLossCases() {
		var want CrossEntropyArgs[float32]
		for threads := 1; threads <= 5; threads++ {
			p := NewPool(threads)
			k := newHalfLoss(p, crossEntropyInputs[float32](c), 0)
			k.kernel.bytes = 4 * 20 * (c.vocab + 15)
			ce1, z1 := k.run(t, p)
			ce2, z2 := k.run(t, p)
			p.Close()
			require.Equal(t, []float64{ce1, z1}, []float64{ce2, z2})
			if threads == 1 {
				want = k.args
			}
			require.Equal(t, want, k.args, "%v, %d threads", c, threads)
		}
	}
}

// TestCrossEntropyBFloat16OnEveryPath: but for path amx, products have the same bits and
// exponentials are within half a unit in the last place.
func TestCrossEntropyBFloat16OnEveryPath(t *testing.T) {
	c := crossEntropyCase{67, 31, 2*lossSlice + 5, false, 1, 0.1, 5}
	want := newHalfLoss(nil, crossEntropyInputs[float32](c), portable)
	wantCE, _ := want.run(t, nil)
	forEachBFloat16Path(t, func(t *testing.T, on path) {
		got := newHalfLoss(nil, crossEntropyInputs[float32](c), on)
		crossEntropy, _ := got.run(t, nil)
		assert.InEpsilon(t, wantCE, crossEntropy, 1e-6)
		assert.Less(t, worstError(got.args.Losses, castTo64(want.args.Losses)), 1e-6)
		assert.Less(t, worstError(got.args.DWeight, castTo64(want.args.DWeight)), 0x1p-8)
		assert.Equal(t, want.args.Hits, got.args.Hits)
	})
}

func castTo64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// TestCrossEntropyBFloat16AddsToWeightGradients also checks that it omits outputs that are not
// asked for.
func TestCrossEntropyBFloat16AddsToWeightGradients(t *testing.T) {
	k := newHalfLoss(nil, crossEntropyInputs[float32](crossEntropyCase{tokens: 7, f: 5, vocab: 11, scale: 1, zLoss: 0.1}), 0)
	wantCE, wantZ := k.run(t, nil)
	want := castTo64(k.args.DWeight)
	for i := range want {
		want[i] *= 2
	}
	k.args.Accumulate, k.args.DFeatures, k.args.Losses, k.args.Hits = true, nil, nil, nil
	k.run(t, nil)
	require.Less(t, worstError(k.args.DWeight, want), 1e-6)
	k.args.DWeight = nil
	crossEntropy, zLoss := k.run(t, nil)
	require.Equal(t, []float64{wantCE, wantZ}, []float64{crossEntropy, zLoss})
}

// TestCrossEntropyBFloat16OfNothing: without a counted token the loss is 0; a NaN gives a NaN, and
// a target beyond the vocabulary is refused.
func TestCrossEntropyBFloat16OfNothing(t *testing.T) {
	k := newHalfLoss(nil, crossEntropyInputs[float32](crossEntropyCase{tokens: 3, f: 2, vocab: 5, scale: 1}), 0)
	targets := k.args.Targets
	k.args.Targets = []int32{-1, -2, -3}
	crossEntropy, _ := k.run(t, nil)
	require.Zero(t, crossEntropy)
	require.Equal(t, make([]float32, 6), k.args.DFeatures)
	k.args.Targets = []int32{0, 5, 0}
	_, _, err := k.kernel.Run(nil, k.args, k.operands)
	require.ErrorContains(t, err, "position 1: want less than the vocabulary of 5, got 5")
	k.args.Targets = targets
	k.operands.Features[2] = toBFloat16(float32(math.NaN()))
	crossEntropy, _ = k.run(t, nil)
	require.True(t, math.IsNaN(crossEntropy))
	require.True(t, math.IsNaN(float64(k.args.Losses[1])))
	require.False(t, math.IsNaN(float64(k.args.Losses[0])))
}

func TestCrossEntropyBFloat16AllocatesNothingWarm(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	a := crossEntropyInputs[float32](crossEntropyCase{tokens: 67, f: 31, vocab: 101, scale: 1, zLoss: 0.1})
	a.SoftCap = 2
	k := newHalfLoss(p, a, 0)
	require.Zero(t, testing.AllocsPerRun(5, func() { k.run(t, p) }))
}

// BenchmarkCrossEntropyBFloat16 measures the loss of 1,024 tokens over GPT-2's vocabulary in
// float32 and in bfloat16 by turns, including the packing of weights, and reports the best of each
// in milliseconds.
func BenchmarkCrossEntropyBFloat16(b *testing.B) {
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	for _, f := range []int{384, 768} {
		for _, transposed := range []bool{false, true} {
			b.Run(fmt.Sprintf("f%d,transposed=%t", f, transposed), func(b *testing.B) {
				a := crossEntropyInputs[float32](crossEntropyCase{1024, f, 50257, transposed, 1, 1e-4, 0})
				k := newHalfLoss(pool, a, 0)
				ld := choose(transposed, f, a.Vocab)
				var wide CrossEntropy[float32]
				runs := []func(){
					func() { _, _, _ = wide.Run(pool, a) },
					func() { k.run(b, pool) },
					func() {
						k.forward.PackFloat32(pool, transposed, a.Vocab, f, a.Weight, ld)
						k.backward.PackFloat32(pool, !transposed, f, a.Vocab, a.Weight, ld)
					},
				}
				best := []time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
				for b.Loop() {
					for i, run := range runs {
						start := time.Now()
						run()
						best[i] = min(best[i], time.Since(start))
					}
				}
				for i, name := range []string{"float32", "bfloat16", "pack"} {
					b.ReportMetric(1e3*best[i].Seconds(), name+"-ms")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

package kernel

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// attentionResult holds what one run of the kernel wrote.
type attentionResult[T Float] struct {
	out, lse, dqkv []T
}

// runAttention runs Forward and Backward into slices full of NaN.
func runAttention[T Float](t *testing.T, threads int, c attentionCase, qkv, dout []float64) attentionResult[T] {
	t.Helper()
	p := NewPool(threads)
	defer p.Close()
	var a Attention[T]
	r := attentionResult[T]{
		out:  fullOfNaN[T](len(dout)),
		lse:  fullOfNaN[T](c.Batch * c.Heads * c.Seq),
		dqkv: fullOfNaN[T](len(qkv)),
	}
	a.Forward(p, Of(r.out), r.lse, Of(castTo[T](qkv)), c.starts, c.AttentionParams)
	a.Backward(p, Of(r.dqkv), Of(castTo[T](qkv)), Of(r.out), Of(castTo[T](dout)), r.lse, c.starts, c.AttentionParams)
	return r
}

func fullOfNaN[T Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.NaN())
	}
	return x
}

func TestAttentionEqualsReference(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv, dout := c.randomQKV(1), c.randomOut(2)
			want := c.reference(qkv, dout)
			compareAttention(t, runAttention[float64](t, 1, c, qkv, dout), want, 1e-12)
			compareAttention(t, runAttention[float32](t, 1, c, qkv, dout), want, 2e-6)
		})
	}
}

func compareAttention[T Float](t *testing.T, got attentionResult[T], want attentionReference, tolerance float64) {
	t.Helper()
	assert.Less(t, worstError(got.out, want.out), tolerance, "out")
	assert.Less(t, worstError(got.lse, want.lse), tolerance, "lse")
	assert.Less(t, worstError(got.dqkv, want.dqkv), tolerance, "dqkv")
}

// Every way of dividing the work gives the same bits.
func TestAttentionHasTheSameBitsForAnyThreads(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv, dout := c.randomQKV(3), c.randomOut(4)
			want := runAttention[float32](t, 1, c, qkv, dout)
			for _, threads := range []int{2, 3, 4, 7} {
				require.Equal(t, want, runAttention[float32](t, threads, c, qkv, dout), "%d threads", threads)
			}
		})
	}
}

func TestBackwardPairsAreSplitOnlyWhereItPays(t *testing.T) {
	for _, x := range []struct{ pairs, threads, want int }{
		{1, 1, 1}, {1, 2, 0}, {3, 2, 2}, {4, 2, 4}, {2, 3, 0}, {5, 3, 3}, {11, 8, 8}, {14, 8, 14}, {48, 16, 48},
	} {
		assert.Equal(t, x.want, wholeBackwardGroups(x.pairs, x.threads), "%d pairs, %d threads", x.pairs, x.threads)
	}
}

func TestBalancedOrderIsAPermutationWithEvenParts(t *testing.T) {
	const n = 12
	seen := map[int]bool{}
	var first, second int
	for item := range n {
		block := balanced(item, n)
		seen[block] = true
		if item < n/2 {
			first += block + 1
		} else {
			second += block + 1
		}
	}
	require.Len(t, seen, n)
	require.InDelta(t, first, second, n/2)
	require.Equal(t, 0, balanced(0, 1))
}

// exp(logit - lse) is the probability, to 1e-12.
func TestAttentionLseGivesProbabilities(t *testing.T) {
	c := newAttentionCase(1, 137, 2, 16, true, 0, true)
	c.Scale = 3
	qkv, dout := c.randomQKV(5), c.randomOut(6)
	got, prob := runAttention[float64](t, 1, c, qkv, dout), runPattern[float64](t, 1, c, qkv)
	for pair := range c.Heads {
		for i := range c.Seq {
			q := c.vector(qkv, 0, i, 0, pair)
			var sum float64
			for j := c.firstVisible(0, i); j <= i; j++ {
				logit := c.Scale*scalarProduct(q, c.vector(qkv, 0, j, 1, pair)) - c.Slopes[pair]*float64(i-j)
				p := math.Exp(logit - got.lse[pair*c.Seq+i])
				require.InDelta(t, prob[(i*c.Heads+pair)*c.Seq+j], p, 1e-12)
				sum += p
			}
			require.InDelta(t, 1, sum, 1e-12)
		}
	}
}

// Checks the gradient of sum(out * dout) along random directions, and for a small case along every
// axis.
func TestAttentionGradientByFiniteDifferences(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	for _, c := range []attentionCase{
		newAttentionCase(1, 5, 2, 4, true, 50, true),
		newAttentionCase(2, 4, 1, 3, false, 0, false),
	} {
		qkv, dout := c.randomQKV(8), c.randomOut(9)
		got := runAttention[float64](t, 2, c, qkv, dout)
		for at := range qkv {
			direction := make([]float64, len(qkv))
			direction[at] = 1
			require.InDelta(t, attentionSlope(p, c, qkv, dout, direction), got.dqkv[at], 1e-9, "%v element %d", c, at)
		}
	}
	for _, c := range attentionCases() {
		qkv, dout := c.randomQKV(8), c.randomOut(9)
		got := runAttention[float64](t, 2, c, qkv, dout)
		direction := c.randomQKV(10)
		want := attentionSlope(p, c, qkv, dout, direction)
		require.InDelta(t, want, scalarProduct(got.dqkv, direction), 1e-7*(1+math.Abs(want)), "%v", c)
	}
}

// attentionSlope returns d/dh sum(out(qkv + h direction) * dout) by a fourth-order central
// difference.
func attentionSlope(p *Pool, c attentionCase, qkv, dout, direction []float64) float64 {
	var a Attention[float64]
	out, x := make([]float64, len(dout)), make([]float64, len(qkv))
	value := func(h float64) float64 {
		for i := range x {
			x[i] = qkv[i] + h*direction[i]
		}
		a.Forward(p, Of(out), nil, Of(x), c.starts, c.AttentionParams)
		return scalarProduct(out, dout)
	}
	const h = 1e-3
	return (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
}

// A token's output depends on nothing outside its range start..i.
func TestAttentionSeesOnlyItsPast(t *testing.T) {
	c := newAttentionCase(1, 150, 2, 8, true, 100, true)
	qkv, dout := c.randomQKV(11), c.randomOut(12)
	before := runAttention[float32](t, 2, c, qkv, dout).out
	const changed = 95 // in the document 87..115
	width := c.width()
	for i := range 3 * width {
		qkv[changed*3*width+i] += 1
	}
	after := runAttention[float32](t, 2, c, qkv, dout).out
	for i := range c.Seq {
		same := assert.ObjectsAreEqual(before[i*width:(i+1)*width], after[i*width:(i+1)*width])
		require.Equal(t, i < changed || i > 115, same, "token %d", i)
	}
}

// Blocks of keys that no query of a block sees are not even read: NaN in them, which a probability
// of 0 would pass on, does not reach the output.
func TestAttentionSkipsBlocksOfOtherDocuments(t *testing.T) {
	c := newAttentionCase(1, 3*attentionQueries, 1, 4, false, 0, false)
	const second = 2*attentionQueries + 5
	c.starts = make([]int32, c.Seq)
	for i := range c.starts {
		if i >= attentionQueries {
			c.starts[i] = attentionQueries
		}
		if i >= second {
			c.starts[i] = second
		}
	}
	qkv, dout := c.randomQKV(1), c.randomOut(2)
	for i := range attentionQueries * 3 * c.width() {
		qkv[i] = math.NaN()
	}
	for _, threads := range []int{1, 2} {
		got := runAttention[float32](t, threads, c, qkv, dout)
		for i := range c.Seq {
			require.Equal(t, i < attentionQueries, math.IsNaN(float64(got.out[i*c.width()])), "out %d", i)
			require.Equal(t, i < attentionQueries, math.IsNaN(float64(got.dqkv[i*3*c.width()])), "dq %d", i)
		}
	}
}

func TestAttentionSurvivesHugeAndNaNLogits(t *testing.T) {
	c := newAttentionCase(1, 130, 1, 4, false, 0, false)
	c.Scale = 1e4
	qkv, dout := c.randomQKV(13), c.randomOut(14)
	compareAttention(t, runAttention[float64](t, 1, c, qkv, dout), c.reference(qkv, dout), 1e-8)

	const bad = 70
	qkv[bad*3*c.HeadDim] = math.NaN()
	got := runAttention[float32](t, 2, c, qkv, dout)
	for i := range c.Seq {
		require.Equal(t, i == bad, math.IsNaN(float64(got.out[i*c.HeadDim])), "token %d", i)
	}
	require.True(t, math.IsNaN(float64(got.dqkv[bad*3*c.HeadDim])))
}

func TestAttentionAllocatesNothingWarm(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		p := NewPool(threads)
		defer p.Close()
		c := newAttentionCase(1, 130, 5, 8, true, 100, true)
		qkv, dout := castTo[float32](c.randomQKV(15)), castTo[float32](c.randomOut(16))
		out, lse, dqkv := make([]float32, len(dout)), make([]float32, c.Heads*c.Seq), make([]float32, len(qkv))
		cache := NewKVCache[float32](1, c.Heads, c.Seq, c.HeadDim)
		var a Attention[float32]
		rows := cachedRows(1, 0, c.Seq)
		require.Zero(t, testing.AllocsPerRun(5, func() {
			a.Forward(p, Of(out), lse, Of(qkv), c.starts, c.AttentionParams)
			a.Backward(p, Of(dqkv), Of(qkv), Of(out), Of(dout), lse, c.starts, c.AttentionParams)
			a.ForwardCached(p, out, qkv, cache, rows, c.starts, c.AttentionParams)
		}), "%d threads", threads)
	}
}

// A matrix of all scores would take 268 MB.
func TestAttentionOfLongRowsTakesLittleMemory(t *testing.T) {
	longtest.Skip(t) // 8192 tokens forward and backward
	c := newAttentionCase(1, 8192, 1, 64, false, 10000, false)
	qkv, dout := castTo[float32](c.randomQKV(17)), castTo[float32](c.randomOut(18))
	out, lse, dqkv := make([]float32, len(dout)), make([]float32, c.Seq), make([]float32, len(qkv))
	p := NewPool(2)
	defer p.Close()
	var a Attention[float32]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a.Forward(p, Of(out), lse, Of(qkv), nil, c.AttentionParams)
	a.Backward(p, Of(dqkv), Of(qkv), Of(out), Of(dout), lse, nil, c.AttentionParams)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
}

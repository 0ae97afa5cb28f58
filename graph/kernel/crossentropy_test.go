package kernel

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// runCrossEntropy runs with a bound on the bytes of logits in memory; 0 means the usual one.
func runCrossEntropy[T Float](t *testing.T, threads, bytes int, a CrossEntropyArgs[T]) (crossEntropy, zLoss float64) {
	t.Helper()
	p := NewPool(threads)
	defer p.Close()
	k := CrossEntropy[T]{bytes: bytes}
	crossEntropy, zLoss, err := k.Run(p, a)
	require.NoError(t, err)
	return crossEntropy, zLoss
}

func TestCrossEntropyEqualsReference(t *testing.T) {
	for _, c := range crossEntropyCases() {
		t.Run(c.String(), func(t *testing.T) {
			want := referenceCrossEntropy(crossEntropyInputs[float64](c))
			for _, chunk := range []int{1, 2, 5, 1000} {
				compareCrossEntropy[float64](t, c, 8*chunk*c.vocab, want, 1e-12)
				compareCrossEntropy[float32](t, c, 4*chunk*c.vocab, want, 2e-6)
			}
		})
	}
}

func compareCrossEntropy[T Float](t *testing.T, c crossEntropyCase, bytes int, want crossEntropyReference, tolerance float64) {
	t.Helper()
	a := crossEntropyInputs[T](c)
	crossEntropy, zLoss := runCrossEntropy(t, 2, bytes, a)
	assert.InDelta(t, want.crossEntropy, crossEntropy, tolerance*(1+want.crossEntropy))
	assert.InDelta(t, want.zLoss, zLoss, tolerance*(1+want.zLoss))
	assert.Less(t, worstError(a.Losses, want.losses), tolerance, "losses")
	assert.Less(t, worstError(a.DFeatures, want.dfeatures), tolerance, "dfeatures")
	assert.Less(t, worstError(a.DWeight, want.dweight), tolerance, "dweight")
	assert.Equal(t, want.hits, a.Hits)
}

// Takes a vocabulary and a number of tokens that need several chunks of the default size.
func TestCrossEntropyOfALargeVocabulary(t *testing.T) {
	c := crossEntropyCase{tokens: 36, f: 3, vocab: 50257, scale: 1, zLoss: 1e-2, ignore: 7}
	if longtest.Enabled() {
		c.tokens = 260
	}
	want := referenceCrossEntropy(crossEntropyInputs[float64](c))
	compareCrossEntropy[float32](t, c, 0, want, 3e-6)
}

func TestCrossEntropyGradientByFiniteDifferences(t *testing.T) {
	c := crossEntropyCase{tokens: 7, f: 3, vocab: 11, scale: 0.7, zLoss: 0.05, ignore: 3}
	for _, c.transposed = range []bool{false, true} {
		a := crossEntropyInputs[float64](c)
		runCrossEntropy(t, 1, 0, a)
		checkGradient(t, a, a.Features, a.DFeatures)
		checkGradient(t, a, a.Weight, a.DWeight)
	}
}

// checkGradient compares the gradient with difference quotients for every element of x, an input of
// a.
func checkGradient(t *testing.T, a CrossEntropyArgs[float64], x, gradient []float64) {
	t.Helper()
	a.Losses, a.Hits, a.DFeatures, a.DWeight = nil, nil, nil, nil
	const h = 1e-3
	for i, old := range x {
		value := func(step float64) float64 {
			x[i] = old + step
			crossEntropy, zLoss := runCrossEntropy(t, 1, 0, a)
			x[i] = old
			return crossEntropy + zLoss
		}
		want := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
		require.InDelta(t, want, gradient[i], 1e-9, "element %d", i)
	}
}

func TestCrossEntropyAccumulatesWeightGradients(t *testing.T) {
	c := crossEntropyCase{tokens: 7, f: 5, vocab: 11, scale: 1, zLoss: 0.1}
	a := crossEntropyInputs[float64](c)
	runCrossEntropy(t, 2, 8*2*c.vocab, a)
	twice := a
	twice.Accumulate, twice.DWeight = true, append([]float64(nil), a.DWeight...)
	runCrossEntropy(t, 2, 8*2*c.vocab, twice)
	want := append([]float64(nil), a.DWeight...)
	scaleRow(portable, want, 2)
	require.Less(t, worstError(twice.DWeight, want), 1e-14)
}

// Leaving out an optional output does not change the others.
func TestCrossEntropyOutputsAreOptional(t *testing.T) {
	full := crossEntropyInputs[float32](crossEntropyCase{tokens: 7, f: 5, vocab: 11, scale: 1, zLoss: 0.1})
	wantCE, wantZ := runCrossEntropy(t, 1, 0, full)
	bare := full
	bare.Losses, bare.Hits, bare.DFeatures, bare.DWeight = nil, nil, nil, nil
	gotCE, gotZ := runCrossEntropy(t, 1, 0, bare)
	require.Equal(t, []float64{wantCE, wantZ}, []float64{gotCE, gotZ})
	half := bare
	half.DFeatures = fullOfNaN[float32](len(full.DFeatures))
	runCrossEntropy(t, 1, 0, half)
	require.Equal(t, full.DFeatures, half.DFeatures)
}

func TestCrossEntropyOfNothingIsZero(t *testing.T) {
	for _, accumulate := range []bool{false, true} {
		a := crossEntropyInputs[float64](crossEntropyCase{tokens: 4, f: 2, vocab: 3, scale: 1, zLoss: 1})
		a.Accumulate, a.Targets = accumulate, []int32{-1, -100, -1, -1}
		a.DWeight = []float64{1, 2, 3, 4, 5, 6}
		crossEntropy, zLoss := runCrossEntropy(t, 2, 0, a)
		require.Equal(t, []float64{0, 0}, []float64{crossEntropy, zLoss})
		require.Equal(t, make([]float64, 4), a.Losses)
		require.Equal(t, make([]float64, 8), a.DFeatures)
		want := make([]float64, 6)
		if accumulate {
			want = []float64{1, 2, 3, 4, 5, 6}
		}
		require.Equal(t, want, a.DWeight)
	}
	var k CrossEntropy[float32]
	crossEntropy, zLoss, err := k.Run(nil, CrossEntropyArgs[float32]{F: 1, Vocab: 1, Weight: []float32{1}})
	require.NoError(t, err)
	require.Zero(t, crossEntropy+zLoss)
}

// One-hot features make the rows of the weight the logits.
func TestCrossEntropyOfExtremeLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	a := CrossEntropyArgs[float32]{
		Features: []float32{1, 0, 0, 0, 1, 0, 0, 0, 1}, Tokens: 3, F: 3, Vocab: 3, Scale: 1,
		Weight:  []float32{1e4, -1e4, 0, -1e4, -1e4, -1e4, 3, 3, 2},
		Targets: []int32{1, 2, 1}, Losses: make([]float32, 3), Hits: make([]int32, 3),
		DFeatures: make([]float32, 9), DWeight: make([]float32, 9),
	}
	crossEntropy, _ := runCrossEntropy(t, 1, 0, a)
	third := math.Log(2 + math.Exp(-1))
	require.InDelta(t, (2e4+math.Log(3)+third)/3, crossEntropy, 1e-3)
	require.InDeltaSlice(t, []float32{2e4, float32(math.Log(3)), float32(third)}, a.Losses, 1e-3)
	require.Equal(t, []int32{0, 0, 0}, a.Hits) // of equal logits the first counts
	a.Targets = []int32{0, 0, 0}
	runCrossEntropy(t, 1, 0, a)
	require.Equal(t, []int32{1, 1, 1}, a.Hits)

	for _, bad := range []float32{nan, inf} {
		a.Features[4] = bad
		crossEntropy, _ = runCrossEntropy(t, 1, 4*a.Vocab, a)
		require.True(t, math.IsNaN(crossEntropy), "%v", bad)
		require.True(t, math.IsNaN(float64(a.Losses[1])))
		require.Zero(t, a.Losses[0])
		require.Equal(t, []int32{1, 0, 1}, a.Hits)
	}
}

func TestCrossEntropyRefusesBadArguments(t *testing.T) {
	c := crossEntropyCase{tokens: 3, f: 2, vocab: 5, scale: 1}
	for want, spoil := range map[string]func(a *CrossEntropyArgs[float32]){
		"position 1: want less than the vocabulary of 5, got 5": func(a *CrossEntropyArgs[float32]) { a.Targets[1] = 5 },
	} {
		a := crossEntropyInputs[float32](c)
		a.DFeatures, a.DWeight, a.Losses = make([]float32, 6), make([]float32, 10), make([]float32, 3)
		spoil(&a)
		var k CrossEntropy[float32]
		_, _, err := k.Run(nil, a)
		require.ErrorContains(t, err, want)
		for _, output := range [][]float32{a.DFeatures, a.DWeight, a.Losses} {
			require.Equal(t, make([]float32, len(output)), output, "nothing is written")
		}
	}
}

func TestCrossEntropyIsDeterministic(t *testing.T) {
	c := crossEntropyCase{tokens: 67, f: 31, vocab: 101, scale: 1, zLoss: 0.1, ignore: 5}
	want := referenceCrossEntropy(crossEntropyInputs[float64](c))
	for _, threads := range []int{1, 2, 3} {
		first, second := crossEntropyInputs[float32](c), crossEntropyInputs[float32](c)
		ce1, z1 := runCrossEntropy(t, threads, 4*20*c.vocab, first)
		ce2, z2 := runCrossEntropy(t, threads, 4*20*c.vocab, second)
		require.Equal(t, []float64{ce1, z1}, []float64{ce2, z2})
		require.Equal(t, first, second)
		require.Less(t, worstError(first.DWeight, want.dweight), 2e-6)
	}
}

func TestCrossEntropyAllocatesNothingWarm(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		p := NewPool(threads)
		defer p.Close()
		k := CrossEntropy[float32]{bytes: 4 * 20 * 101}
		a := crossEntropyInputs[float32](crossEntropyCase{tokens: 67, f: 31, vocab: 101, scale: 1, zLoss: 0.1})
		require.Zero(t, testing.AllocsPerRun(5, func() {
			if _, _, err := k.Run(p, a); err != nil {
				t.Error(err)
			}
		}), "%d threads", threads)
	}
}

// All logits would take 412 MB.
func TestCrossEntropyOfManyTokensTakesLittleMemory(t *testing.T) {
	longtest.Skip(t) // 2048 tokens of a vocabulary of 50257
	c := crossEntropyCase{tokens: 2048, f: 4, vocab: 50257, scale: 1, zLoss: 1e-4}
	a := crossEntropyInputs[float32](c)
	p := NewPool(2)
	defer p.Close()
	var k CrossEntropy[float32]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := k.Run(p, a)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(crossEntropyBytes))
	chunk := len(k.logits) / c.vocab
	require.Equal(t, 410, chunk) // 5 even chunks
}

package data

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counting returns the tokens 0, 1, …, n-1.
func counting(n int) Tokens {
	tokens := make([]uint16, n)
	for i := range tokens {
		tokens[i] = uint16(i)
	}
	return narrow(tokens...)
}

// narrow returns tokens of two bytes.
func narrow(ids ...uint16) Tokens { return Tokens{narrow: ids} }

func newBatcher(t testing.TB, n, batch, seq int, seed uint64) *Batcher {
	t.Helper()
	b, err := NewBatcher(counting(n), batch, seq, seed)
	require.NoError(t, err)
	return b
}

// next returns the inputs and targets of the next batch.
func next(t testing.TB, b *Batcher) (inputs, targets []int32) {
	t.Helper()
	inputs, targets = make([]int32, b.batch*b.seq), make([]int32, b.batch*b.seq)
	require.NoError(t, b.Next(inputs, targets))
	return inputs, targets
}

func TestBatchesAreWindows(t *testing.T) {
	b := newBatcher(t, 60_000, 5, 7, 1)
	for range 1000 {
		inputs, targets := next(t, b)
		for row := range 5 {
			for i := range 7 {
				at := row*7 + i
				require.Equal(t, inputs[row*7]+int32(i), inputs[at])
				require.Equal(t, inputs[at]+1, targets[at])
			}
			require.Less(t, targets[row*7+6], int32(60_000))
		}
	}
}

func TestBatcherIsDeterminedBySeed(t *testing.T) {
	inputs, _ := next(t, newBatcher(t, 60_000, 8, 16, 1))
	again, _ := next(t, newBatcher(t, 60_000, 8, 16, 1))
	other, _ := next(t, newBatcher(t, 60_000, 8, 16, 2))
	assert.Equal(t, inputs, again)
	assert.NotEqual(t, inputs, other)
}

// The exact offsets: a change of the generator would break the resumption of every run.
func TestBatchOffsetsAreFixed(t *testing.T) {
	b := newBatcher(t, 65_536, 3, 1, 42)
	var got [][]int32
	for range 2 {
		inputs, _ := next(t, b)
		got = append(got, inputs)
	}
	// These were calculated outside this package, in Python, from the formula in the comments.
	assert.Equal(t, [][]int32{{25360, 60378, 5447}, {2212, 50684, 36923}}, got)
}

func TestBatcherRestores(t *testing.T) {
	whole := newBatcher(t, 60_000, 4, 8, 3)
	for range 37 {
		next(t, whole)
	}
	require.EqualValues(t, 37, whole.Position())
	resumed := newBatcher(t, 60_000, 4, 8, 3)
	resumed.Seek(whole.Position())
	for range 10 {
		want, wantTargets := next(t, whole)
		got, gotTargets := next(t, resumed)
		require.Equal(t, want, got)
		require.Equal(t, wantTargets, gotTargets)
	}
	assert.Equal(t, whole.Position(), resumed.Position())
	whole.Seek(0)
	first, _ := next(t, newBatcher(t, 60_000, 4, 8, 3))
	back, _ := next(t, whole)
	assert.Equal(t, first, back)
}

// Offsets are uniform, the last one included, and neither steps nor rows
// repeat each other: chi-square over all offsets, and over pairs of
// consecutive rows and steps. The seeds are fixed, so the tests can't flicker.
func TestBatchOffsetsAreUniform(t *testing.T) {
	const offsets, batch, steps = 16, 8, 20_000
	b := newBatcher(t, offsets+4, batch, 4, 5)
	var single [offsets]float64
	var rows, stepPairs [offsets * offsets]float64
	var before []int32
	for range steps {
		inputs, _ := next(t, b)
		for row := range batch {
			o := inputs[row*4]
			single[o]++
			if row > 0 {
				rows[inputs[(row-1)*4]*offsets+o]++
			}
			if before != nil {
				stepPairs[before[row*4]*offsets+o]++
			}
		}
		before = inputs
	}
	// Chi-square of k cells has mean k-1 and variance 2(k-1): within 4 sigma.
	check := func(name string, cells []float64) {
		t.Helper()
		var sum, chi float64
		for _, n := range cells {
			sum += n
		}
		expected := sum / float64(len(cells))
		for _, n := range cells {
			chi += (n - expected) * (n - expected) / expected
		}
		freedom := float64(len(cells) - 1)
		assert.InDelta(t, freedom, chi, 4*math.Sqrt(2*freedom), name)
	}
	check("offsets", single[:])
	check("consecutive rows", rows[:])
	check("consecutive steps", stepPairs[:])
}

func TestBatcherOverTheShortestStream(t *testing.T) {
	b := newBatcher(t, 9, 2, 8, 1)
	inputs, targets := next(t, b)
	assert.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}, inputs)
	assert.Equal(t, []int32{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, targets)
}

func TestBatcherErrors(t *testing.T) {
	_, err := NewBatcher(counting(8), 2, 8, 1)
	assert.EqualError(t, err, "data: batcher: want at least 9 tokens (seq 8 + 1), got 8")
	_, err = NewBatcher(counting(8), 0, 4, 1)
	assert.EqualError(t, err, "data: batcher: want batch and seq of at least 1, got 0 x 4")
	_, err = NewBatcher(counting(8), 1, 0, 1)
	assert.EqualError(t, err, "data: batcher: want batch and seq of at least 1, got 1 x 0")
	b := newBatcher(t, 20, 2, 4, 1)
	assert.EqualError(t, b.Next(make([]int32, 8), make([]int32, 7)), "data: batcher: want inputs and targets of 8 elements (batch 2 x seq 4), got 8 and 7")
	assert.Zero(t, b.Position())
}

func TestBatcherAllocatesNothing(t *testing.T) {
	b := newBatcher(t, 60_000, 8, 128, 1)
	inputs, targets := make([]int32, 8*128), make([]int32, 8*128)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.Next(inputs, targets); err != nil {
			t.Error(err)
		}
	}))
}

func BenchmarkBatcher(b *testing.B) {
	batcher := newBatcher(b, 60_000, 16, 256, 1)
	inputs, targets := make([]int32, 16*256), make([]int32, 16*256)
	b.ReportAllocs()
	for b.Loop() {
		if err := batcher.Next(inputs, targets); err != nil {
			b.Fatal(err)
		}
	}
}

package stream

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/stream/linear"
)

func draws(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// site reads and writes at a site, without a step.
func (f *Frozen) site(at Site, down, up linear.Map) {
	f.Read(at.Name(), down, nil)
	f.Write(at.Name(), up)
}

// TestFrozenPullBack: PullBack is Carry's transpose at every source, and CarryTo takes what
// is written to its readers, later ones alone.
func TestFrozenPullBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	f := &Frozen{tokens: 2, size: 4}
	f.Write("a", linear.Matrix{W: draws(r, 3*4), In: 3, Out: 4})
	f.Read("first", linear.Identity(4), nil)
	f.Step(linear.Scale{Factors: draws(r, 8), Size: 4})
	f.Add([]float64{1, 2, 3, 4})
	f.Write("b", linear.Identity(4))
	f.Step(linear.Scale{Factors: draws(r, 8), Size: 4})
	for token := range 2 {
		end := draws(r, 4)
		pulled, err := f.PullBack(token, end)
		require.NoError(t, err)
		for name, width := range map[string]int{"a": 3, "b": 4} {
			y := draws(r, width)
			carried, err := f.Carry(name, token, y)
			require.NoError(t, err)
			assert.InDelta(t, floats.Dot(carried, end), floats.Dot(y, pulled[name]), 1e-12)
		}
		want, err := f.Carry("b", token, []float64{1, 2, 3, 4})
		require.NoError(t, err)
		constant, err := f.Constant(token)
		require.NoError(t, err)
		assert.Equal(t, want, constant)
	}
	there, err := f.CarryTo("a", "first", 0, []float64{1, 0, 0})
	require.NoError(t, err)
	assert.Len(t, there, 4)
	after, err := f.CarryTo("b", "first", 0, []float64{1, 0, 0, 0})
	require.NoError(t, err)
	assert.Nil(t, after)
}

// TestFrozenWithoutSteps: where no step lies between a site's read and its write, what it
// writes still is none of what it read, and results are the caller's.
func TestFrozenWithoutSteps(t *testing.T) {
	f := &Frozen{tokens: 1, size: 2}
	f.ReadOut(linear.Identity(2), func([]float64) (linear.Chain, []float64) { return nil, nil })
	f.Write("embedding", linear.Identity(2))
	f.site(Site{Sublayer: Attention}, linear.Identity(2), linear.Identity(2))
	f.site(Site{Sublayer: FeedForward}, linear.Identity(2), linear.Identity(2))
	for source, readers := range map[string]int{"embedding": 2, "blocks.0.attention": 1, "blocks.0.feedforward": 0} {
		reached := 0
		for _, reader := range f.Readers() {
			y := []float64{1, 2}
			u, err := f.CarryTo(source, reader, 0, y)
			require.NoError(t, err)
			if u != nil {
				reached++
				u[0] = 9
				assert.Equal(t, []float64{1, 2}, y)
			}
		}
		assert.Equal(t, readers, reached, source)
	}
	direction := []float64{3, 4}
	pulled, err := f.PullBack(0, direction)
	require.NoError(t, err)
	pulled["embedding"][0] = 9
	assert.Equal(t, direction, pulled["blocks.0.attention"])
	r, err := f.Readout(direction)
	require.NoError(t, err)
	features, err := r.Features(0, direction)
	require.NoError(t, err)
	features[0] = 9
	assert.Equal(t, []float64{3, 4}, direction)
}

// TestFrozenErrors: what a call can get wrong is one line.
func TestFrozenErrors(t *testing.T) {
	f := &Frozen{tokens: 2, size: 4}
	f.ReadOut(linear.Identity(4), func([]float64) (linear.Chain, []float64) {
		return linear.Chain{linear.Matrix{W: make([]float64, 12), In: 4, Out: 3}}, nil
	})
	f.Write("a", linear.Matrix{W: make([]float64, 12), In: 3, Out: 4})
	f.Read("first", linear.Identity(4), nil)
	r, err := f.Readout(make([]float64, 8))
	require.NoError(t, err)
	for want, f := range map[string]func() error{
		`stream: no site "firt" reads this stream; want one of first`:            func() error { _, err := f.CarryTo("a", "firt", 0, make([]float64, 3)); return err },
		`stream: no site "second" reads this stream; want one of first`:          func() error { _, err := f.ConstantTo("second", 0); return err },
		`stream: nothing is written at "c"; want one of a`:                       func() error { _, err := f.Carry("c", 0, nil); return err },
		"stream: token: want 0 to 1, got 2":                                      func() error { _, err := f.Carry("a", 2, make([]float64, 3)); return err },
		"stream: token: want 0 to 1, got -1":                                     func() error { _, err := f.Constant(-1); return err },
		"stream: token: want 0 to 1, got -2":                                     func() error { _, err := f.ConstantTo("first", -2); return err },
		"stream: token: want 0 to 1, got 3":                                      func() error { _, err := f.PullBack(3, make([]float64, 4)); return err },
		"stream: token: want 0 to 1, got 4":                                      func() error { _, err := r.Features(4, make([]float64, 4)); return err },
		"stream: a: want 3 entries of a token, got 4":                            func() error { _, err := f.Carry("a", 0, make([]float64, 4)); return err },
		"stream: the output: want 4 entries of a token, got 3":                   func() error { _, err := f.PullBack(0, make([]float64, 3)); return err },
		"stream: readout: want 4 entries of a token, got 3":                      func() error { _, err := r.Features(0, make([]float64, 3)); return err },
		"stream: readout: want 3 entries of a token, got 4":                      func() error { _, err := r.PullBack(0, make([]float64, 4)); return err },
		"stream: readout: want the ends of 2 tokens of 4 entries, got 1 entries": func() error { _, err := f.Readout([]float64{1}); return err },
	} {
		assert.EqualError(t, f(), want)
	}
}

// TestFrozenOfEarlierBlocks: a state that grows by a piece with each block, as that of a stream
// whose blocks read weighted sums of all earlier blocks' outputs, carries what is written as the
// sums written out do.
func TestFrozenOfEarlierBlocks(t *testing.T) {
	const d, blocks = 3, 3
	r := rand.New(rand.NewPCG(11, 12))
	f, weights := newFrozen(nil), make([][]float64, blocks)
	f.Write("embedding", linear.Stack{linear.Identity(d), linear.Identity(d)}) // x_0, h
	for l := range blocks {
		n := l + 2
		now := linear.Row(n, n-1, d)
		f.site(Site{Block: l, Sublayer: FeedForward}, now, linear.Transposed{Of: now})
		weights[l] = draws(r, n)
		f.Step(linear.Stack{linear.Identity(n * d), linear.Rows(d, weights[l])}) // x_0 ... x_(l+1), h
	}
	f.Step(linear.Row(blocks+2, blocks+1, d))
	f.ReadOut(linear.Identity(d), func([]float64) (linear.Chain, []float64) { return nil, nil })
	written, sum := map[string][]float64{"embedding": draws(r, d)}, make([]float64, d)
	x := [][]float64{written["embedding"]}
	now := x[0]
	for l := range blocks {
		name := Site{Block: l, Sublayer: FeedForward}.Name()
		written[name] = draws(r, d)
		x = append(x, floats.AddTo(make([]float64, d), now, written[name]))
		now = make([]float64, d)
		for i, weight := range weights[l] {
			floats.AddScaled(now, weight, x[i])
		}
	}
	for _, source := range f.Sources() {
		term, err := f.Carry(source, 0, written[source])
		require.NoError(t, err)
		floats.Add(sum, term)
	}
	assert.InDeltaSlice(t, now, sum, 1e-12)
	way, err := f.Between("embedding", Unembedding)
	require.NoError(t, err)
	_, number := way.Mean(1).Number()
	assert.True(t, number, "what becomes of the embedding is a number times it")
}

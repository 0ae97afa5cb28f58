package stream

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/graph"
)

func draws(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// TestTransposes: every linear map's transpose is one, <M x, y> = <x, M^T y>, for each
// token, and maps leave their inputs alone.
func TestTransposes(t *testing.T) {
	const tokens = 3
	r := rand.New(rand.NewPCG(1, 2))
	scale := scaleMap{draws(r, tokens*4), 4}
	norm := holdNorm(draws(r, tokens*4), draws(r, 4), graph.NormOptions{})
	for name, c := range map[string]struct {
		m       linearMap
		in, out int
	}{
		"identity":   {identityMap{5}, 5, 5},
		"matrix":     {matrixMap{draws(r, 3*7), 3, 7}, 3, 7},
		"keys":       {keysMap{draws(r, 2*5), 2, 5, 3}, 6, 15},
		"transposed": {transposed{keysMap{draws(r, 2*5), 2, 5, 3}}, 15, 6},
		"scale":      {scale, 4, 4},
		"layernorm":  {norm, 4, 4},
		"rmsnorm":    {holdNorm(draws(r, tokens*6), draws(r, 6), graph.NormOptions{RMS: true, Eps: 0.1}), 6, 6},
		"groups":     {holdNorm(draws(r, tokens*6), draws(r, 6), graph.NormOptions{Groups: 2}), 6, 6},
		"blocks":     {blockMap{[][]linearMap{{identityMap{4}, nil, norm}, {scale, scale, nil}}, 4}, 12, 8},
		"mix":        {mixMap{in: 2, out: 3, d: 4, at: func(t, i, j int) float64 { return float64(1 + t*7 + i*3 - j) }}, 8, 12},
	} {
		in, out := c.m.sizes()
		assert.Equal(t, [2]int{c.in, c.out}, [2]int{in, out}, name)
		for token := range tokens {
			x, y := draws(r, c.in), draws(r, c.out)
			before := append([]float64(nil), x...)
			forward := c.m.apply(token, x)
			require.Len(t, forward, c.out, name)
			assert.InDelta(t, floats.Dot(forward, y), floats.Dot(x, c.m.transpose(token, y)), 1e-12, "%s, token %d", name, token)
			assert.Equal(t, before, x, name)
		}
	}
}

// TestHeldNorm: at the input whose scale it holds it is the norm, and it is linear.
func TestHeldNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, gain := draws(r, 2*5), draws(r, 5)
	m := holdNorm(x, gain, graph.NormOptions{Eps: 0.2})
	for token := range 2 {
		v := x[token*5:][:5]
		mean, variance := meanOf(v), 0.0
		for _, e := range v {
			variance += (e - mean) * (e - mean) / 5
		}
		got := m.apply(token, v)
		for i := range v {
			want := (v[i] - mean) * gain[i]
			assert.InDelta(t, want*want/(variance+0.2), got[i]*got[i], 1e-12)
			assert.Equal(t, want > 0, got[i] > 0)
		}
		twice := m.apply(token, append([]float64(nil), floats.ScaleTo(make([]float64, 5), 2, v)...))
		assert.InDeltaSlice(t, floats.ScaleTo(make([]float64, 5), 2, got), twice, 1e-12)
	}
}

// TestHeldPullBack: PullBack is Carry's transpose at every source, and CarryTo takes what
// is written to its readers, later ones alone.
func TestHeldPullBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	h := &Held{tokens: 2, size: 4}
	h.enter("a", matrixMap{draws(r, 3*4), 3, 4})
	h.read("first", identityMap{4})
	h.step(scaleMap{draws(r, 8), 4})
	h.add([]float64{1, 2, 3, 4})
	h.enter("b", identityMap{4})
	h.step(scaleMap{draws(r, 8), 4})
	for token := range 2 {
		end := draws(r, 4)
		pulled, err := h.PullBack(token, end)
		require.NoError(t, err)
		for name, width := range map[string]int{"a": 3, "b": 4} {
			y := draws(r, width)
			carried, err := h.Carry(name, token, y)
			require.NoError(t, err)
			assert.InDelta(t, floats.Dot(carried, end), floats.Dot(y, pulled[name]), 1e-12)
		}
		want, err := h.Carry("b", token, []float64{1, 2, 3, 4})
		require.NoError(t, err)
		constant, err := h.Constant(token)
		require.NoError(t, err)
		assert.Equal(t, want, constant)
	}
	there, err := h.CarryTo("a", "first", 0, []float64{1, 0, 0})
	require.NoError(t, err)
	assert.Len(t, there, 4)
	behind, err := h.CarryTo("b", "first", 0, []float64{1, 0, 0, 0})
	require.NoError(t, err)
	assert.Nil(t, behind)
}

// TestHeldWithoutSteps: where no step lies between a site's read and its write, what it
// writes still is none of what it read, and results are the caller's.
func TestHeldWithoutSteps(t *testing.T) {
	h := &Held{tokens: 1, size: 2, readout: func([]float64) *Readout { return &Readout{} }}
	h.enter("embedding", identityMap{2})
	h.vectorSite(Site{Kind: Attention}, identityMap{2}, identityMap{2})
	h.vectorSite(Site{Kind: FeedForward}, identityMap{2}, identityMap{2})
	for source, readers := range map[string]int{"embedding": 2, "blocks.0.attention": 1, "blocks.0.feedforward": 0} {
		reached := 0
		for _, reader := range h.Readers() {
			y := []float64{1, 2}
			u, err := h.CarryTo(source, reader, 0, y)
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
	pulled, err := h.PullBack(0, direction)
	require.NoError(t, err)
	pulled["embedding"][0] = 9
	assert.Equal(t, direction, pulled["blocks.0.attention"])
	r, err := h.Readout(direction)
	require.NoError(t, err)
	features, err := r.Features(0, direction)
	require.NoError(t, err)
	features[0] = 9
	assert.Equal(t, []float64{3, 4}, direction)
}

// TestHeldErrors: what a call can get wrong is one line.
func TestHeldErrors(t *testing.T) {
	h := &Held{tokens: 2, size: 4, readout: func([]float64) *Readout { return &Readout{maps: []linearMap{matrixMap{make([]float64, 12), 4, 3}}} }}
	h.enter("a", matrixMap{make([]float64, 12), 3, 4})
	h.read("first", identityMap{4})
	r, err := h.Readout(make([]float64, 8))
	require.NoError(t, err)
	for want, f := range map[string]func() error{
		`stream: no site "firt" reads this stream; want one of first`:            func() error { _, err := h.CarryTo("a", "firt", 0, make([]float64, 3)); return err },
		`stream: no site "second" reads this stream; want one of first`:          func() error { _, err := h.ConstantTo("second", 0); return err },
		`stream: nothing is written at "c"; want one of a`:                       func() error { _, err := h.Carry("c", 0, nil); return err },
		"stream: token: want 0 to 1, got 2":                                      func() error { _, err := h.Carry("a", 2, make([]float64, 3)); return err },
		"stream: token: want 0 to 1, got -1":                                     func() error { _, err := h.Constant(-1); return err },
		"stream: token: want 0 to 1, got -2":                                     func() error { _, err := h.ConstantTo("first", -2); return err },
		"stream: token: want 0 to 1, got 3":                                      func() error { _, err := h.PullBack(3, make([]float64, 4)); return err },
		"stream: token: want 0 to 1, got 4":                                      func() error { _, err := r.Features(4, make([]float64, 4)); return err },
		"stream: a: want 3 entries of a token, got 4":                            func() error { _, err := h.Carry("a", 0, make([]float64, 4)); return err },
		"stream: the end: want 4 entries of a token, got 3":                      func() error { _, err := h.PullBack(0, make([]float64, 3)); return err },
		"stream: readout: want 4 entries of a token, got 3":                      func() error { _, err := r.Features(0, make([]float64, 3)); return err },
		"stream: readout: want 3 entries of a token, got 4":                      func() error { _, err := r.PullBack(0, make([]float64, 4)); return err },
		"stream: readout: want the ends of 2 tokens of 4 entries, got 1 entries": func() error { _, err := h.Readout([]float64{1}); return err },
	} {
		assert.EqualError(t, f(), want)
	}
}

package stream_test

import (
	"math/rand/v2"
	"slices"
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

const mapTokens = 3 // of each sample

// mapSample is a map with its sizes.
type mapSample struct {
	m       linear.Map
	in, out int
}

// mapSamples are maps of every kind.
func mapSamples() map[string]mapSample {
	r := rand.New(rand.NewPCG(1, 2))
	scale := linear.Scale{Factors: draws(r, mapTokens*4), Size: 4}
	layer := linear.Norm{Gain: draws(r, 4), Centre: true, Groups: 1}
	keys, matrix := linear.Keys(draws(r, 2*5), 5, 3), linear.Matrix{W: draws(r, 3*7), In: 3, Out: 7}
	mix := linear.Mix{In: 2, Out: 3, Width: 4, At: func(t, i, j int) float64 { return float64(1 + t*7 + i*3 - j) }}
	return map[string]mapSample{
		"identity":   {linear.Identity(5), 5, 5},
		"matrix":     {matrix, 3, 7},
		"keys":       {keys, 6, 15},
		"transposed": {linear.Transposed{Of: keys}, 15, 6},
		"scale":      {scale, 4, 4},
		"layernorm":  {layer.At(draws(r, mapTokens*4), 1e-6), 4, 4},
		"unscaled":   {layer, 4, 4},
		"rmsnorm":    {linear.Norm{Gain: draws(r, 6), Groups: 1}.At(draws(r, mapTokens*6), 0.1), 6, 6},
		"groups":     {linear.Norm{Gain: draws(r, 6), Centre: true, Groups: 2}.At(draws(r, mapTokens*6), 1e-6), 6, 6},
		"stack":      {linear.Stack{linear.Identity(4), scale, linear.Rows(2, []float64{2, 3})}, 4, 10},
		"rows":       {linear.Rows(2, []float64{1, 2, 3}, []float64{0, -1, 4}), 6, 4},
		"mix":        {mix, 8, 12},
		"chain":      {linear.Chain{scale, layer, linear.Rows(4, []float64{1}, []float64{2}), mix}, 4, 12},
		"through":    {linear.Chain{matrix, linear.Transposed{Of: matrix}, linear.Identity(3)}, 3, 3},
	}
}

// TestMapTransposes: every map's transpose is one, <M x, y> = <x, M^T y>, for each token, and maps
// leave their inputs alone.
func TestMapTransposes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, c := range mapSamples() {
		in, out := c.m.Sizes()
		assert.Equal(t, [2]int{c.in, c.out}, [2]int{in, out}, name)
		for token := range mapTokens {
			x, y := draws(r, c.in), draws(r, c.out)
			inputs := slices.Concat(x, y)
			forward, backward := c.m.Apply(token, x), c.m.Transpose(token, y)
			require.Len(t, forward, c.out, name)
			require.Len(t, backward, c.in, name)
			assert.InDelta(t, floats.Dot(forward, y), floats.Dot(x, backward), 1e-12, "%s, token %d", name, token)
			assert.Equal(t, inputs, slices.Concat(x, y), name)
		}
	}
}

// TestKeysStoreOuterProducts: X = keys^T y, entry by entry.
func TestKeysStoreOuterProducts(t *testing.T) {
	keys, y := []float64{1, 2, 3, 4, 5, 6}, []float64{10, 20, 30, 40} // [2, 3], [2, 2]
	assert.Equal(t, []float64{1*10 + 4*30, 1*20 + 4*40, 2*10 + 5*30, 2*20 + 5*40, 3*10 + 6*30, 3*20 + 6*40}, linear.Keys(keys, 3, 2).Apply(0, y))
}

// TestNormOfFrozenScale: at the input whose scale it holds it is the norm, and it is linear.
func TestNormOfFrozenScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, gain := draws(r, 2*5), draws(r, 5)
	m := linear.Norm{Gain: gain, Centre: true, Groups: 1}.At(x, 0.2)
	for token := range 2 {
		v := x[token*5:][:5]
		mean, variance := floats.Sum(v)/5, 0.0
		for _, e := range v {
			variance += (e - mean) * (e - mean) / 5
		}
		got := m.Apply(token, v)
		for i := range v {
			want := (v[i] - mean) * gain[i]
			assert.InDelta(t, want*want/(variance+0.2), got[i]*got[i], 1e-12)
			assert.Equal(t, want > 0, got[i] > 0)
		}
		twice := m.Apply(token, floats.ScaleTo(make([]float64, 5), 2, v))
		assert.InDeltaSlice(t, floats.ScaleTo(make([]float64, 5), 2, got), twice, 1e-12)
	}
}

// TestMixOfLowRank: a step that forgets what lies along a key, I - b k k^T on the rows of a
// memory with b and k a token's own, is a Mix.
func TestMixOfLowRank(t *testing.T) {
	const dk, width = 4, 3
	r := rand.New(rand.NewPCG(5, 6))
	k, b := draws(r, mapTokens*dk), draws(r, mapTokens)
	step := linear.Mix{In: dk, Out: dk, Width: width, At: func(t, i, j int) float64 {
		own := -b[t] * k[t*dk+i] * k[t*dk+j]
		if i == j {
			return 1 + own
		}
		return own
	}}
	for token := range mapTokens {
		x, key := draws(r, dk*width), k[token*dk:][:dk]
		read, want := linear.Keys(key, dk, width).Transpose(0, x), slices.Clone(x)
		floats.AddScaled(want, -b[token], linear.Keys(key, dk, width).Apply(0, read))
		assert.InDeltaSlice(t, want, step.Apply(token, x), 1e-12)
	}
}

// TestNormBackward: the gradient through a norm whose scale follows its input agrees with finite
// differences.
func TestNormBackward(t *testing.T) {
	for _, m := range []linear.Norm{{Gain: []float64{1, -2, 0.5, 3}, Centre: true, Groups: 1}, {Gain: []float64{1, -2, 0.5, 3}, Groups: 2}} {
		x, dy := []float64{0.3, -1, 2, 0.7}, []float64{1, 0.5, -2, 0.25}
		loss := func() float64 { return floats.Dot(dy, m.At(x, 1e-3).Apply(0, x)) }
		dx := m.At(x, 1e-3).Backward(0, x, dy)
		for i, v := range x {
			const step = 1e-6
			x[i] = v + step
			above := loss()
			x[i] = v - step
			assert.InDelta(t, (above-loss())/(2*step), dx[i], 1e-7)
			x[i] = v
		}
	}
}

package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

const eps = 1e-5

// matrixConfig is a small matrix stream, of 2 blocks.
func matrixConfig() stream.MatrixConfig {
	return stream.MatrixConfig{Dk: 4, Dv: 3, Rank: 2, Common: stream.Common{Layers: 2, Vocab: 5, Positions: 6, Norm: layers.NormConfig{Eps: eps},
		Init: layers.Init{Std: 1, Embedding: 1, Layers: 2}, InputScale: 1.5, Ratios: stream.Ratios{KeyRatio: 2, RankRatio: 3}}}
}

// stored is sum_h keys[h] (x) y_h for each token, added to x: eq. 18-20, 23.
func stored(c stream.MatrixConfig, x, keys, y []float64) []float64 {
	out := append([]float64(nil), x...)
	for token := range len(x) / (c.Dk * c.Dv) {
		for h := range c.Rank {
			for i := range c.Dk {
				for j := range c.Dv {
					out[(token*c.Dk+i)*c.Dv+j] += keys[h*c.Dk+i] * y[(token*c.Rank+h)*c.Dv+j]
				}
			}
		}
	}
	return out
}

// retrieved is keys[h] . X for each token: eq. 22, 25, 27.
func retrieved(c stream.MatrixConfig, x, keys []float64) []float64 {
	var out []float64
	for token := range len(x) / (c.Dk * c.Dv) {
		for h := range len(keys) / c.Dk {
			for j := range c.Dv {
				sum := 0.0
				for i := range c.Dk {
					sum += keys[h*c.Dk+i] * x[(token*c.Dk+i)*c.Dv+j]
				}
				out = append(out, sum)
			}
		}
	}
	return out
}

func TestMatrixEmbed(t *testing.T) {
	for _, positions := range []int{6, 0} {
		c := matrixConfig()
		c.Positions = positions
		ids, places := []int32{4, 0, 4}, []int32{0, 5, 2}
		got, store := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			tokens := stream.Tokens{IDs: b.Input("ids", tensor.Int32, 1, 3)}
			if positions > 0 {
				tokens.Positions = b.Input("places", tensor.Int32, 1, 3)
			}
			return stream.NewMatrix(b, c).Embed(tokens).(stream.VectorState).H
		}, nil, map[string][]int32{"ids": ids, "places": places})
		width := c.Rank * c.Dv
		var e, p []float64
		for i := range ids {
			for _, v := range value(t, store, "embedding")[int(ids[i])*width:][:width] {
				e = append(e, 1.5*v) // the input scale
			}
			if positions > 0 {
				p = append(p, value(t, store, "positions")[int(places[i])*width:][:width]...)
			}
		}
		want := stored(c, make([]float64, 3*c.Dk*c.Dv), value(t, store, "write_embedding"), e)
		if positions > 0 {
			want = stored(c, want, value(t, store, "write_positions"), p)
		}
		assert.InDeltaSlice(t, want, got, tolerance, "%d positions", positions)
	}
}

// TestMatrixSites reads from and writes to a known stream.
func TestMatrixSites(t *testing.T) {
	c := matrixConfig()
	x, y := noise(1, siteTokens*c.Dk*c.Dv), noise(2, siteTokens*c.Rank*c.Dv)
	read := func(norm, keys string) func(s *graph.Store) []float64 {
		return func(s *graph.Store) []float64 {
			return retrieved(c, layerNorm(x, value(t, s, norm), eps), value(t, s, keys))
		}
	}
	write := func(keys string) func(s *graph.Store) []float64 {
		return func(s *graph.Store) []float64 { return stored(c, x, value(t, s, keys), y) }
	}
	checkWays(t, x, y, []int{c.Dk, c.Dv}, func(b *graph.Builder, x *gorgonia.Node) (stream.Stream, stream.State) {
		return stream.NewMatrix(b, c), stream.VectorState{H: x}
	}, map[string]func(s *graph.Store) []float64{
		"heads read":            read("blocks.1.attention.norm", "blocks.1.attention.read"),
		"features read":         read("blocks.1.feedforward.norm", "blocks.1.feedforward.read"),
		"features of the model": read("norm", "read_unembedding"),
		"heads written":         write("blocks.1.attention.write"),
		"features written":      write("blocks.1.feedforward.write"),
	})
}

// TestMatrixParameters: names and shapes are what checkpoints hold.
func TestMatrixParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	c := matrixConfig()
	c.Layers = 1
	m := stream.NewMatrix(b, c)
	assert.NoError(t, b.Err())
	assert.Equal(t, "embedding", m.Table().Name())
	assert.Equal(t, map[string][]int{
		"embedding": {5, 2, 3}, "write_embedding": {2, 4}, "positions": {6, 2, 3}, "write_positions": {2, 4},
		"blocks.0.attention.norm": {4, 3}, "blocks.0.attention.read": {3, 2, 4}, "blocks.0.attention.write": {2, 4},
		"blocks.0.feedforward.norm": {4, 3}, "blocks.0.feedforward.read": {2, 4}, "blocks.0.feedforward.write": {2, 4},
		"norm": {4, 3}, "read_unembedding": {2, 4},
	}, shapes(b.Store()))
	ratios := map[string]float64{"write_embedding": 3, "write_positions": 3, "blocks.0.attention.read": 2, "blocks.0.attention.write": 3,
		"blocks.0.feedforward.read": 2, "blocks.0.feedforward.write": 3, "read_unembedding": 2}
	for _, p := range b.Store().Params() {
		assert.Equal(t, ratios[p.Name], p.WidthRatio, "width ratio of %q", p.Name)
		assert.Equal(t, ratios[p.Name] != 0, p.Decay, "decay of %q", p.Name)
	}
	c.Positions = 0
	b = graph.On(gorgonia.NewGraph(), graph.Options{})
	stream.NewMatrix(b, c)
	assert.NotContains(t, shapes(b.Store()), "positions")
	assert.NotContains(t, shapes(b.Store()), "write_positions")
}

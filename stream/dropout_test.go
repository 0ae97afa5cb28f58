package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// TestVectorDropout: what a sublayer writes loses some entries in training; the others
// are doubled at rate 1/2. The stream itself loses none.
func TestVectorDropout(t *testing.T) {
	c := vectorConfig()
	c.Dropout = 0.5
	const tokens = 20
	h, y := noise(1, tokens*c.D), noise(2, tokens*c.D)
	got, _ := evaluateWith(t, graph.Options{Training: true}, func(b *graph.Builder) *gorgonia.Node {
		v := stream.NewVector(b, c)
		state := stream.VectorState{H: b.Input("h", tensor.Float64, tokens, c.D)}
		return v.WriteFeatures(state, v.Sites(1)[1], nil, b.Input("y", tensor.Float64, tokens, c.D)).Nodes()[0]
	}, map[string][]float64{"h": h, "y": y}, nil)
	kept := 0
	for i := range got {
		if written := got[i] - h[i]; math.Abs(written) > tolerance {
			require.InDelta(t, 2*y[i], written, tolerance)
			kept++
		}
	}
	assert.InDelta(t, 0.5, float64(kept)/float64(len(got)), 0.2, "share of entries kept")
}

// TestMatrixDropout: the vectors that are stored lose entries, not the stream: each
// column of what is added is sum_h keys[h] m_h 2 y_h for some m_h of 0 and 1.
func TestMatrixDropout(t *testing.T) {
	c := matrixConfig()
	c.Dropout = 0.5
	const tokens = 20
	x, y := noise(1, tokens*c.Dk*c.Dv), noise(2, tokens*c.Rank*c.Dv)
	got, store := evaluateWith(t, graph.Options{Training: true}, func(b *graph.Builder) *gorgonia.Node {
		m := stream.NewMatrix(b, c)
		state := stream.VectorState{H: b.Input("x", tensor.Float64, tokens, c.Dk, c.Dv)}
		return m.WriteHeads(state, m.Sites(1)[0], nil, b.Input("y", tensor.Float64, tokens, c.Rank*c.Dv)).Nodes()[0]
	}, map[string][]float64{"x": x, "y": y}, nil)
	keys, kept := value(t, store, "blocks.1.attention.write"), 0
	for token := range tokens {
		for j := range c.Dv {
			mask := -1
			for m := range 1 << c.Rank {
				worst := 0.0
				for i := range c.Dk {
					at := (token*c.Dk+i)*c.Dv + j
					want := x[at]
					for h := range c.Rank {
						want += keys[h*c.Dk+i] * 2 * float64(m>>h&1) * y[(token*c.Rank+h)*c.Dv+j]
					}
					worst = max(worst, math.Abs(got[at]-want))
				}
				if worst < tolerance*10 {
					mask = m
				}
			}
			require.GreaterOrEqual(t, mask, 0, "token %d, column %d fits no mask", token, j)
			kept += mask&1 + mask>>1
		}
	}
	assert.InDelta(t, 0.5, float64(kept)/float64(tokens*c.Dv*c.Rank), 0.2, "share of entries kept")
}

// TestEmbeddingDropout: the embedded stream loses entries too.
func TestEmbeddingDropout(t *testing.T) {
	v, m := vectorConfig(), matrixConfig()
	v.Positions, m.Positions, v.Dropout, m.Dropout = 0, 0, 0.5, 0.5
	ids := map[string][]int32{"ids": make([]int32, 20)}
	for name, embed := range map[string]func(b *graph.Builder, tokens stream.Tokens) stream.State{
		"vector": func(b *graph.Builder, tokens stream.Tokens) stream.State { return stream.NewVector(b, v).Embed(tokens) },
		"matrix": func(b *graph.Builder, tokens stream.Tokens) stream.State { return stream.NewMatrix(b, m).Embed(tokens) },
	} {
		for _, training := range []bool{false, true} {
			got, _ := evaluateWith(t, graph.Options{Training: training}, func(b *graph.Builder) *gorgonia.Node {
				return embed(b, stream.Tokens{IDs: b.Input("ids", tensor.Int32, 1, 20)}).Nodes()[0]
			}, nil, ids)
			zeros := 0
			for _, x := range got {
				if x == 0 {
					zeros++
				}
			}
			want := 0.0
			if training {
				want = 0.5
			}
			assert.InDelta(t, want, float64(zeros)/float64(len(got)), want*0.4, "%s, training: %t", name, training)
		}
	}
}

package analysis_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestVirtualWeightsAgainstNumpy: norms and scores of all pairs are numpy's.
func TestVirtualWeightsAgainstNumpy(t *testing.T) {
	var want struct {
		Weights []struct {
			Writer string  `json:"writer"`
			Reader string  `json:"reader"`
			Norm   float64 `json:"norm"`
			Score  float64 `json:"score"`
		} `json:"virtual_weights"`
	}
	numpy(t, &want)
	p := gpt2(t)
	wiring, err := analysis.Wire(t.Context(), p.Store, p.Spec, analysis.WiringOptions{})
	require.NoError(t, err)
	require.Len(t, want.Weights, wiring.Pairs)
	for i, w := range want.Weights {
		row, column := slices.Index(wiring.Scores.Rows, w.Writer), slices.Index(wiring.Scores.Columns, w.Reader)
		require.InEpsilon(t, w.Score, wiring.Scores.Values[row][column], 1e-9, "%s to %s", w.Writer, w.Reader)
		if i%7 > 0 {
			continue
		}
		v, err := analysis.Connect(p.Store, p.Spec, w.Writer, w.Reader, nil)
		require.NoError(t, err)
		assert.InEpsilon(t, w.Norm, v.Norm, 1e-9)
		assert.InEpsilon(t, w.Score, v.Score, 1e-9)
		assert.InEpsilon(t, w.Norm, mat.Norm(listed(t, v), 2), 1e-9)
	}
}

// listed are virtual weights that are few enough to be listed.
func listed(t *testing.T, v *analysis.VirtualWeights) *mat.Dense {
	require.Len(t, v.Values, v.Rows)
	return mat.NewDense(v.Rows, v.Columns, slices.Concat(v.Values...))
}

// TestVirtualWeightsOfEveryStream compares all pairs with explicit matrices, what CarryTo
// makes of unit vectors among them.
func TestVirtualWeightsOfEveryStream(t *testing.T) {
	t.Parallel()
	left := excepted(t, "static")
	for name, c := range few(t) {
		if !supports(c, weighted) || supports(c, keyed) { // none, or keys
			continue
		}
		t.Run(name, func(t *testing.T) {
			run, _ := decompose(t, c, tensor.Float64)
			store := run.Model().Store()
			for _, r := range []*cache.Cache{nil, run} {
				if r == nil && left(name, c) {
					continue
				}
				wiring, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{Run: r, FDR: 1})
				require.NoError(t, err)
				requireResult(t, wiring)
				n := newNaive(t, store, c, r)
				for i, writer := range wiring.Scores.Rows {
					for j, reader := range wiring.Scores.Columns {
						n.check(wiring, i, j, writer, reader)
					}
				}
			}
		})
	}
}

// check compares one pair.
func (n *naive) check(wiring *analysis.Wiring, i, j int, writer, reader string) {
	from, _ := siteOf(writer)
	to, _ := siteOf(reader)
	score := wiring.Scores.Values[i][j]
	if position(from) >= position(to) {
		require.True(n.t, math.IsNaN(score), "%s to %s", writer, reader)
		return
	}
	out, in := n.out(writer), n.in(reader)
	_, width := out.Dims()
	wide, _ := in.Dims()
	m := n.carry(writer, reader, width, wide)
	weights := times(out, m, in)
	size := mat.Norm(m, 2) / math.Sqrt(float64(wide))
	strength := mat.Norm(weights, 2) / (mat.Norm(out, 2) * mat.Norm(in, 2))
	require.InEpsilon(n.t, strength/size, score, 1e-8, "%s to %s", writer, reader)
	if (i+j)%29 > 0 {
		return
	}
	v, err := analysis.Connect(n.store, n.c, writer, reader, n.run)
	require.NoError(n.t, err)
	require.True(n.t, mat.EqualApprox(weights, listed(n.t, v), 1e-9*mat.Norm(weights, 2)), "%s to %s", writer, reader)
	require.InEpsilon(n.t, strength, v.Strength, 1e-8)
	require.InEpsilon(n.t, size, v.Carry, 1e-8)
	requireResult(n.t, v)
}

// TestFullCircuitsFollowTheStream: on their way from the embedding and to the end the full
// circuits go through what a run made of the stream.
func TestFullCircuitsFollowTheStream(t *testing.T) {
	t.Parallel()
	for _, name := range checked(t, "full circuits") {
		t.Run(name, func(t *testing.T) {
			c := varied(t, zoo(t)[name], func(c *models.Config) { c.Attention.HeadDim = 2 })
			run, _ := decompose(t, c, tensor.Float64)
			store := run.Model().Store()
			for _, r := range []*cache.Cache{nil, run} {
				circuits, err := analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{Run: r})
				require.NoError(t, err)
				n := newNaive(t, store, c, r)
				for _, h := range circuits.Heads {
					q, k, v := n.in(h.Name()+".q"), n.in(h.Name()+".k"), n.in(h.Name()+".v")
					embedding, unembedding := n.param("embedding"), n.unembedding()
					_, width := embedding.Dims()
					wide, _ := unembedding.Dims()
					in := func(via string) *mat.Dense { return n.carry("embedding", h.Name()+via, width, c.Width()) }
					out := n.carry(h.Name(), "unembedding", c.Width(), wide)
					requireSpectrum(t, times(embedding, in(".v"), v, n.out(h.Name()), out, unembedding), *h.FullOV, h.Name())
					requireSpectrum(t, times(embedding, in(".q"), q, k.T(), in(".k").T(), embedding.T()), *h.FullQK, h.Name())
				}
			}
		})
	}
}

// TestConnectErrors: what a call can get wrong is one line.
func TestConnectErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	_, err := analysis.Connect(store, c, "blocks.1.attention.0", "blocks.0.attention.0.q", nil)
	assert.ErrorIs(t, err, check.ValueError{Name: "reader", Want: "a reader after blocks.1.attention.0"})
	_, err = analysis.Connect(store, c, "blocks.1.atention.0", "unembedding", nil)
	assert.ErrorIs(t, err, check.UnknownNameError{Kind: "writer", Name: "blocks.1.atention.0", Nearest: "blocks.1.attention.0"})
	_, err = analysis.Connect(store, c, "embedding", "blocks.0.attention.3.q", nil)
	assert.ErrorIs(t, err, check.UnknownNameError{Kind: "reader", Name: "blocks.0.attention.3.q"})
	other := unsupporting(t, weighted)
	_, err = analysis.Connect(modeltest.NewStore(t, other, tensor.Float32, 0), other, "embedding", "unembedding", nil)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
}

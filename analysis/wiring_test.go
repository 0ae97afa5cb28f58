package analysis_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// wide are a matrix and a vector model large enough for a connection to stand out.
func wide(t *testing.T) map[string]models.Spec {
	vector := transformer(3, 40, 8, 4, 7, 5)
	vector.Attention.HeadDim, vector.Norm = 2, models.NormRMS
	matrix := models.Config{Stream: stream.MatrixConfig{Dk: 40, Dv: 3, Rank: 4}, Layers: 3, FeedForward: gelu(8), Vocab: 7, Seq: 5, Norm: models.NormRMS}
	return resolved(t, map[string]models.Config{"matrix": matrix, "vector": vector})
}

// randomStore has independent weights from N(0, 1) and gains of 1.
func randomStore(t *testing.T, spec models.Spec, seed uint64) *graph.Store {
	store := modeltest.NewStore(t, spec, tensor.Float64, seed)
	draw := rand.New(rand.NewPCG(seed, 9))
	for _, p := range store.Params() {
		values := make([]float64, p.Size())
		for i := range values {
			values[i] = p.Init.Offset
			if p.Init.Offset == 0 {
				values[i] = draw.NormFloat64()
			}
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
	return store
}

// set overwrites rows or columns of a parameter.
func set(t *testing.T, store *graph.Store, name string, rows int, change func(w *mat.Dense)) {
	w := parameter(t, store, name, rows)
	change(w)
	require.NoError(t, graph.SetFloat64s(store.Param(name).Value, w.RawMatrix().Data))
}

// plant makes what head 1 of layer 0 writes what head 2 of layer 2 reads as its key.
func plant(t *testing.T, store *graph.Store, spec models.Spec) {
	if on[stream.MatrixConfig](spec) {
		s := matrixOf(spec)
		written := mat.Row(nil, 1, parameter(t, store, "blocks.0.attention.write", s.Rank))
		set(t, store, "blocks.2.attention.read", 3*s.Rank, func(w *mat.Dense) { w.SetRow(s.Rank+2, written) })
		return
	}
	width, dh := spec.HeadCount()*spec.HeadDim(), spec.HeadDim()
	o := parameter(t, store, "blocks.0.attention.o", width)
	set(t, store, "blocks.2.attention.qkv", spec.Width(), func(w *mat.Dense) {
		for i := range dh {
			w.SetCol(width+2*dh+i, mat.Row(nil, dh+i, o))
		}
	})
}

// TestWiringFindsAPlantedConnection: it is the strongest edge of the model, and in every picture.
func TestWiringFindsAPlantedConnection(t *testing.T) {
	for name, c := range wide(t) {
		t.Run(name, func(t *testing.T) {
			store := randomStore(t, c, 3)
			plant(t, store, c)
			w, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{})
			require.NoError(t, err)
			requireResult(t, w)
			e := w.Edges[0]
			assert.Equal(t, []string{"blocks.0.attention.1", "blocks.2.attention.2.k", "k"}, []string{e.Writer, e.Reader, e.Via})
			assert.Equal(t, "blocks.0.attention.1", w.Nodes[e.From].Name)
			assert.Equal(t, "blocks.2.attention.2", w.Nodes[e.To].Name)
			assert.Equal(t, []string{e.Writer, e.Reader}, w.Table().Rows[0][:2])
			assert.Equal(t, figure.WiringEdge{From: e.From, To: e.To, Weight: e.AboveChance(), Via: "k"}, w.Diagram().Edges[0])
			want := 1 / math.Sqrt(3) // of w ⊗ I: the identity on 3 values; of A A^T below
			if on[stream.VectorConfig](c) {
				a := parameter(t, store, "blocks.0.attention.o", 8).Slice(2, 4, 0, 40)
				want = mat.Norm(times(a, a.T()), 2) / math.Pow(mat.Norm(a, 2), 2)
			}
			assert.InDelta(t, want, e.Score, 1e-12)
			v, err := analysis.Connect(store, c, e.Writer, e.Reader, nil)
			require.NoError(t, err)
			assert.Equal(t, e.Alignment, v.Alignment)
		})
	}
}

// TestWiringFindsValues: a feed-forward and the unembedding, whose keys are strangers, are
// connected by their weights for values.
func TestWiringFindsValues(t *testing.T) {
	c := modeltest.Resolve(t, models.Config{Stream: stream.MatrixConfig{Dk: 32, Dv: 12, Rank: 8}, Layers: 2, FeedForward: gelu(8), Vocab: 7, Seq: 5, Norm: models.NormRMS})
	store := randomStore(t, c, 5)
	const site = "blocks.0.feedforward"
	find := func() analysis.WiringEdge {
		w, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{FDR: 1})
		require.NoError(t, err)
		require.Len(t, w.Edges, w.Pairs)
		i := slices.IndexFunc(w.Edges, func(e analysis.WiringEdge) bool { return e.Writer == site && e.Reader == "unembedding" })
		return w.Edges[i]
	}
	assert.Greater(t, find().FDR, 0.05)
	m := rmt{t, store, c, matrixOf(c)}
	keys := m.whole(parameter(t, store, site+".write", m.s.Rank)) // [R*Dv, Dk*Dv]
	arrives := times(keys, m.in("unembedding"))                   // [R*Dv, V], of what W2 writes
	set(t, store, site+".w2", hidden(c), func(w2 *mat.Dense) { w2.Slice(0, 7, 0, c.Width()).(*mat.Dense).Copy(arrives.T()) })
	e := find()
	assert.Less(t, e.FDR, 1e-4)
	assert.Greater(t, e.AboveChance(), 2.0)
}

// TestWiringOfRandomWeights: p-values of a model with random weights are uniform, and hardly any
// edges are kept: the share of such models with an edge is at most the false-discovery rate, apart
// from pairs that share weights.
func TestWiringOfRandomWeights(t *testing.T) {
	t.Parallel()
	for name, c := range wide(t) {
		below, n, found := map[float64]float64{0.5: 0, 0.05: 0, 0.005: 0}, 0.0, 0
		const seeds = 20
		for seed := range uint64(seeds) {
			w, err := analysis.Wire(t.Context(), randomStore(t, c, seed), c, analysis.WiringOptions{})
			require.NoError(t, err)
			n += float64(w.Pairs)
			for _, row := range w.Significance.Values {
				for _, significance := range row {
					for level := range below {
						if significance >= -math.Log10(level) {
							below[level]++
						}
					}
				}
			}
			if len(w.Edges) > 0 {
				found++
			}
		}
		for level, count := range below {
			assert.InDelta(t, level, count/n, 5*math.Sqrt(level/n)+0.05*level, "%s: p <= %g", name, level)
		}
		assert.LessOrEqual(t, found, seeds/5, name)
	}
}

// TestWiringRate: the edges kept at a false-discovery rate are those that Benjamini and Hochberg's
// step-up procedure keeps, and JSON has them.
func TestWiringRate(t *testing.T) {
	c := wide(t)["matrix"]
	store := randomStore(t, c, 1)
	plant(t, store, c)
	all, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{FDR: 1})
	require.NoError(t, err)
	require.Len(t, all.Edges, all.Pairs)
	for _, rate := range []float64{0.05, 0.5} {
		some, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{FDR: rate})
		require.NoError(t, err)
		kept := 0
		for i, e := range all.Edges {
			if e.P <= rate*float64(i+1)/float64(all.Pairs) {
				kept = i + 1
			}
		}
		require.Positive(t, kept)
		assert.Equal(t, all.Edges[:kept], some.Edges, rate)
		text, err := json.Marshal(some)
		require.NoError(t, err)
		var read struct {
			FDR   float64 `json:"fdr"`
			Edges []struct {
				Writer string  `json:"writer"`
				P      float64 `json:"p"`
				FDR    float64 `json:"fdr"`
				Chance struct {
					Mean float64 `json:"mean"`
				} `json:"chance"`
			} `json:"edges"`
		}
		require.NoError(t, json.Unmarshal(text, &read))
		require.Len(t, read.Edges, kept)
		first := some.Edges[0]
		assert.Equal(t, []any{rate, first.Writer, first.P, first.FDR, first.Chance.Mean}, []any{read.FDR, read.Edges[0].Writer, read.Edges[0].P, read.Edges[0].FDR, read.Edges[0].Chance.Mean})
	}
}

// TestWiringOfZeros: an unembedding of zeros, as models start with, connects to nothing.
func TestWiringOfZeros(t *testing.T) {
	c := zoo(t)["vector"]
	w, err := analysis.Wire(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 0), c, analysis.WiringOptions{FDR: 1})
	require.NoError(t, err)
	requireResult(t, w)
	for i, row := range w.Scores.Values {
		assert.Zero(t, row[len(row)-1])
		assert.Zero(t, w.Significance.Values[i][len(row)-1])
	}
}

// TestWiringErrors: what a call can get wrong is one line.
func TestWiringErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.NewStore(t, c, tensor.Float32, 0)
	_, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{FDR: 2})
	assert.ErrorIs(t, err, check.ValueError{Name: "fdr", Got: "2"})
	other := unsupporting(t, weighted)
	_, err = analysis.Wire(t.Context(), modeltest.NewStore(t, other, tensor.Float32, 0), other, analysis.WiringOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	run, _ := decompose(t, zoo(t)["matrix"], tensor.Float32)
	_, err = analysis.Wire(t.Context(), store, c, analysis.WiringOptions{Run: run})
	assert.ErrorContains(t, err, "run: want one of the same model")
}

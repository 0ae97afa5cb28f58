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
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
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
func randomStore(t *testing.T, c models.Spec, seed uint64) *graph.Store {
	store := modeltest.NewStore(t, c, tensor.Float64, seed)
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
func plant(t *testing.T, store *graph.Store, c models.Spec) {
	if on[stream.MatrixConfig](c) {
		s := matrixOf(c)
		written := mat.Row(nil, 1, parameter(t, store, "blocks.0.attention.write", s.Rank))
		set(t, store, "blocks.2.attention.read", 3*s.Rank, func(w *mat.Dense) { w.SetRow(s.Rank+2, written) })
		return
	}
	width, dh := c.HeadCount()*c.HeadDim(), c.HeadDim()
	o := parameter(t, store, "blocks.0.attention.o", width)
	set(t, store, "blocks.2.attention.qkv", c.Width(), func(w *mat.Dense) {
		for i := range dh {
			w.SetCol(width+2*dh+i, mat.Row(nil, dh+i, o))
		}
	})
}

// TestWiringFindsAPlantedConnection: it is the strongest edge of the model, by score and by
// Z, and in every picture.
func TestWiringFindsAPlantedConnection(t *testing.T) {
	for name, c := range wide(t) {
		t.Run(name, func(t *testing.T) {
			store := randomStore(t, c, 3)
			plant(t, store, c)
			w, err := analysis.Wire(store, c, analysis.WiringOptions{})
			require.NoError(t, err)
			requireResult(t, w)
			e := w.Edges[0]
			assert.Equal(t, []string{"blocks.0.attention.1", "blocks.2.attention.2.k", "k"}, []string{e.Writer, e.Reader, e.Via})
			assert.Equal(t, "blocks.0.attention.1", w.Nodes[e.From].Name)
			assert.Equal(t, "blocks.2.attention.2", w.Nodes[e.To].Name)
			assert.Equal(t, []string{e.Writer, e.Reader}, w.Table().Rows[0][:2])
			assert.Equal(t, figure.WiringEdge{From: e.From, To: e.To, Weight: e.Z}, w.Diagram().Edges[0])
			want := 1.0 // A A^T of two rows that are nearly orthogonal and of one size: 1/sqrt(2)
			if on[stream.VectorConfig](c) {
				a := parameter(t, store, "blocks.0.attention.o", 8).Slice(2, 4, 0, 40)
				want = mat.Norm(times(a, a.T()), 2) / math.Pow(mat.Norm(a, 2), 2)
			}
			assert.InDelta(t, want, e.Score, 1e-12)
			for _, row := range w.Scores.Values {
				for _, score := range row {
					assert.False(t, score > e.Score)
				}
			}
			v, err := analysis.Connect(store, c, e.Writer, e.Reader, nil)
			require.NoError(t, err)
			assert.Equal(t, e.Alignment, v.Alignment)
		})
	}
}

// TestWiringOfRandomWeights: connections of a model of random weights are what chance makes
// them: their Z has mean 0 and deviation 1, to four standard errors.
func TestWiringOfRandomWeights(t *testing.T) {
	t.Parallel()
	for name, c := range wide(t) {
		var z []float64
		for seed := range uint64(20) {
			w, err := analysis.Wire(randomStore(t, c, seed), c, analysis.WiringOptions{Seed: seed})
			require.NoError(t, err)
			for _, row := range w.Z.Values {
				z = append(z, slices.DeleteFunc(slices.Clone(row), math.IsNaN)...)
			}
			require.LessOrEqual(t, len(w.Edges), w.Pairs/20)
		}
		mean, deviation := stat.MeanStdDev(z, nil)
		standard := 1 / math.Sqrt(float64(len(z)))
		// Pairs that share weights are not independent, but in the means that chance has.
		assert.InDelta(t, 0, mean, 4*standard, name)
		assert.InDelta(t, 1, deviation, 0.05, name)
	}
}

// TestWiringOfWholeSites: all heads of a layer are one node.
func TestWiringOfWholeSites(t *testing.T) {
	c := zoo(t)["hieragg"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	w, err := analysis.Wire(store, c, analysis.WiringOptions{Whole: true, Threshold: -100})
	require.NoError(t, err)
	want := []figure.WiringNode{
		{Name: "embedding", Layer: 0}, {Name: "positions", Layer: 0},
		{Name: "blocks.0.attention", Layer: 1}, {Name: "blocks.0.feedforward", Layer: 2},
		{Name: "blocks.1.attention", Layer: 3}, {Name: "blocks.1.feedforward", Layer: 4}, {Name: "blocks.1.aggregate", Layer: 5},
		{Name: "blocks.2.attention", Layer: 6}, {Name: "blocks.2.feedforward", Layer: 7},
		{Name: "blocks.3.attention", Layer: 8}, {Name: "blocks.3.feedforward", Layer: 9}, {Name: "blocks.3.aggregate", Layer: 10},
		{Name: "unembedding", Layer: 11},
	}
	assert.Equal(t, want, w.Nodes)
	assert.Len(t, w.Edges, w.Pairs, "no threshold that counts")
	for _, e := range w.Edges {
		assert.Less(t, w.Nodes[e.From].Layer, w.Nodes[e.To].Layer)
	}
	for _, e := range w.Edges[:10] {
		v, err := analysis.Connect(store, c, e.Writer, e.Reader, nil)
		require.NoError(t, err)
		assert.InEpsilon(t, v.Norm, e.Norm, 1e-9)
	}
}

// TestWiringThreshold: edges are those beyond it, sorted; JSON has them.
func TestWiringThreshold(t *testing.T) {
	c := wide(t)["matrix"]
	store := randomStore(t, c, 1)
	all, err := analysis.Wire(store, c, analysis.WiringOptions{Threshold: -100, Draws: 100})
	require.NoError(t, err)
	some, err := analysis.Wire(store, c, analysis.WiringOptions{Threshold: 1.5, Draws: 100})
	require.NoError(t, err)
	beyond := slices.IndexFunc(all.Edges, func(e analysis.WiringEdge) bool { return e.Z < 1.5 })
	require.Positive(t, beyond)
	assert.Equal(t, all.Edges[:beyond], some.Edges)
	text, err := json.Marshal(all.Z) // NaNs are null there, and equal
	require.NoError(t, err)
	same, err := json.Marshal(some.Z)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(same))
	text, err = json.Marshal(some)
	require.NoError(t, err)
	var read struct {
		Edges []struct {
			Writer string  `json:"writer"`
			Z      float64 `json:"z"`
			Chance struct {
				Rows int `json:"rows"`
			} `json:"chance"`
		} `json:"edges"`
	}
	require.NoError(t, json.Unmarshal(text, &read))
	require.Len(t, read.Edges, beyond)
	assert.Equal(t, some.Edges[0].Writer, read.Edges[0].Writer)
	assert.Equal(t, some.Edges[0].Z, read.Edges[0].Z)
	assert.Equal(t, some.Edges[0].Chance.Rows, read.Edges[0].Chance.Rows)
}

// TestWiringOfZeros: an unembedding of zeros, as models start with, connects to nothing.
func TestWiringOfZeros(t *testing.T) {
	c := zoo(t)["vector"]
	w, err := analysis.Wire(modeltest.NewStore(t, c, tensor.Float32, 0), c, analysis.WiringOptions{Draws: 10})
	require.NoError(t, err)
	requireResult(t, w)
	for i, row := range w.Scores.Values {
		assert.Zero(t, row[len(row)-1])
		assert.Zero(t, w.Z.Values[i][len(row)-1])
	}
}

// TestWiringErrors: what a call can get wrong is one line.
func TestWiringErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.NewStore(t, c, tensor.Float32, 0)
	_, err := analysis.Wire(store, c, analysis.WiringOptions{Draws: 1})
	assert.ErrorIs(t, err, check.ValueError{Name: "draws", Got: "1"})
	lstm := zoo(t)["dwlstm"]
	_, err = analysis.Wire(modeltest.NewStore(t, lstm, tensor.Float32, 0), lstm, analysis.WiringOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Analysis: "wiring", Stream: "dwlstm"})
	run, _ := decompose(t, zoo(t)["mhc"], tensor.Float32)
	_, err = analysis.Wire(store, c, analysis.WiringOptions{Run: run})
	assert.ErrorContains(t, err, "run: want one of the same model")
}

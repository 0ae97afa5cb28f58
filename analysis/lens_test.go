package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestLensEndsAtTheModel: for every stream the lens after the last writer is the model's own
// prediction, and there is a point after each writer but the bare embedding.
func TestLensEndsAtTheModel(t *testing.T) {
	t.Parallel()
	all := withOptions(t, few(t))
	all["vector/soft-cap"] = varied(t, zoo(t)["vector/mup"], softCapped)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			for dt, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-10, tensor.Float32: 1e-4} {
				run, d := decompose(t, c, dt)
				for token := range c.Seq {
					logits, err := run.TokenLogits(token)
					require.NoError(t, err)
					target := (token * 5) % c.Vocab
					lens, err := d.Lens(token, target)
					require.NoError(t, err)
					checkLens(t, lens, logits, bound*max(1, floats.Norm(logits, math.Inf(1))))
				}
			}
		})
	}
}

func checkLens(t *testing.T, lens *analysis.Lens, logits []float64, bound float64) {
	last := lens.Points[len(lens.Points)-1]
	assert.InDelta(t, logits[lens.Target], last.Logit, bound)
	assert.InDelta(t, math.Exp(logits[lens.Target]-floats.LogSumExp(logits)), last.Probability, bound)
	sorted, ids := append([]float64(nil), logits...), make([]int, len(logits))
	floats.Argsort(sorted, ids)
	for i, top := range last.Top {
		assert.Equal(t, ids[len(ids)-1-i], top.ID)
	}
	require.Len(t, last.Top, 5)
	if last.Keys != nil {
		assert.InDelta(t, last.Logit, floats.Sum(last.Keys), bound)
	}
}

// TestLensPartialSums: in a stream that adds, the point after a site is what the model says
// when all that comes later writes nothing.
func TestLensPartialSums(t *testing.T) {
	for _, name := range []string{"vector", "matrix", "matrix/authors", "vector/moe"} {
		c := zoo(t)[name]
		store, ids := modeltest.PerturbedStore(t, c, tensor.Float64), tokensFor(c, c.Seq, 3)
		run, err := analysis.Run(store, c, ids)
		require.NoError(t, err)
		d, err := analysis.Decompose(run)
		require.NoError(t, err)
		lens, err := d.Lens(c.Seq-1, 1)
		require.NoError(t, err)
		r, err := cache.New(store, c, cache.Options{Names: []string{"blocks.*.*.write"}, Seq: c.Seq})
		require.NoError(t, err)
		defer r.Close()
		require.Len(t, lens.Points, 1+len(r.Names()))
		for i := range lens.Points {
			var silent []cache.Intervention
			for _, later := range r.Names()[i:] {
				silent = append(silent, cache.Ablate(later, nil))
			}
			short, err := r.Run(ids, silent...)
			require.NoError(t, err)
			logits, err := short.TokenLogits(c.Seq - 1)
			require.NoError(t, err)
			assert.InDelta(t, logits[1], lens.Points[i].Logit, 1e-10, "%s, after %s", name, lens.Points[i].After)
		}
	}
}

// TestLensGridIsSpelled: the last tokens of a grid, in words.
func TestLensGridIsSpelled(t *testing.T) {
	g := &analysis.LensGrid{After: []string{"embedding"}, IDs: []int32{3, 4, 5}, Top: [][]analysis.Prediction{{{1, 0.5}, {2, 0.25}, {0, 1}}}}
	g.Spell = func(id int) string { return string(rune('a' + id)) }
	last := g.Last(2)
	assert.Equal(t, [][]string{{"embedding", "c 0.25", "a 1.00"}}, last.Table().Rows)
	assert.Equal(t, []string{"after", "e", "f"}, last.Table().Header)
	h := last.Figures()[0].(figure.Heatmap)
	assert.Equal(t, [][]string{{"c", "a"}}, h.Cells)
	assert.Equal(t, []float64{0, 1}, h.Limits)
	assert.Len(t, g.Last(9).IDs, 3)
	assert.Contains(t, h.Title, "Logit lens: ")
}

// TestGridOfATunedLens: its figure says through which lens it looks.
func TestGridOfATunedLens(t *testing.T) {
	_, d := decompose(t, zoo(t)["vector"], tensor.Float64)
	m, err := d.Tuned(&analysis.TunedLens{}).LensMap()
	require.NoError(t, err)
	assert.Contains(t, m.Grid().Last(1).Figures()[0].(figure.Heatmap).Title, "Tuned lens: ")
}

// TestLensMap: it is the lens of each token at its successor, whose row ends where it ends.
func TestLensMap(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			store, seq := modeltest.PerturbedStore(t, c, tensor.Float64), 3
			names, err := analysis.DecompositionNames(store, c)
			require.NoError(t, err)
			r, err := cache.New(store, c, cache.Options{Names: names, Batch: 2, Seq: seq})
			require.NoError(t, err)
			defer r.Close()
			run, err := r.Run(tokensFor(c, 2*seq, 3))
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			m, err := d.LensMap()
			require.NoError(t, err)
			assert.Equal(t, []int{0, 1, 3, 4}, m.Tokens)
			grid := m.Grid()
			for token := range run.IDs {
				lens, err := d.Lens(token, 0)
				require.NoError(t, err)
				for i, p := range lens.Points {
					assert.Equal(t, p.Top[0].ID, grid.Top[i][token].ID)
					assert.InDelta(t, p.Top[0].Probability, grid.Top[i][token].Probability, 1e-12)
				}
			}
			for column, token := range m.Tokens {
				lens, err := d.Lens(token, int(run.IDs[token+1]))
				require.NoError(t, err)
				require.Len(t, lens.Points, len(m.After))
				for i, p := range lens.Points {
					assert.Equal(t, p.After, m.After[i])
					assert.InDelta(t, p.Probability, m.Probability[i][column], 1e-12)
					assert.InDelta(t, -math.Log(p.Probability), m.Loss[i][column], 1e-9)
					assert.Equal(t, float64(p.Rank), m.Rank[i][column])
				}
			}
		})
	}
}

// TestLensErrors: what a call can get wrong is one line.
func TestLensErrors(t *testing.T) {
	c := zoo(t)["vector"]
	run, err := analysis.Run(modeltest.PerturbedStore(t, c, tensor.Float32), c, []int32{4})
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	_, err = d.Lens(1, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 1, Got: 1})
	_, err = d.Lens(0, 13)
	assert.ErrorIs(t, err, check.RangeError{Name: "target id", N: 13, Got: 13})
	_, err = d.LensMap()
	assert.ErrorIs(t, err, check.ValueError{Name: "lens", Got: "1"})
}

// BenchmarkLensMap is a transformer of 12 layers and GPT-2's vocabulary at 64 tokens.
func BenchmarkLensMap(b *testing.B) {
	preset, err := models.Standard().Preset("transformer-162m")
	require.NoError(b, err)
	c, err := preset.Config.Resolve()
	require.NoError(b, err)
	store := graph.NewStore(tensor.Float32, 1)
	_, err = models.New(gorgonia.NewGraph(), c, graph.Options{Store: store})
	require.NoError(b, err)
	run, err := analysis.Run(store, c, tokensFor(c, 64, 1))
	require.NoError(b, err)
	for b.Loop() {
		d, err := analysis.Decompose(run)
		require.NoError(b, err)
		_, err = d.LensMap()
		require.NoError(b, err)
	}
}

package mixing_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// weightsOf are the weights of a model's readers, [token][source] each, by the equations.
type weightsOf func(r reader) [][]float64

// reader is one of a tiny model, with what its weights are made of.
type reader struct {
	t     *testing.T
	store *graph.Store
	run   *cache.Cache
	name  string
}

// depthCases are tiny models with the equations of some of their readers' weights.
func depthCases() map[string]struct {
	design  stream.Design
	sources []string
	softmax bool
	readers []string
	weights map[string]weightsOf
} {
	type row = struct {
		design  stream.Design
		sources []string
		softmax bool
		readers []string
		weights map[string]weightsOf
	}
	sites := []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward", "unembedding"}
	muddReaders := []string{"blocks.1.attention.q", "blocks.1.attention.k", "blocks.1.attention.v", "blocks.1.residual", "unembedding"}
	return map[string]row{
		"attnres": {stream.AttnResConfig{}, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward"}, true, sites,
			map[string]weightsOf{
				"blocks.0.attention": func(r reader) [][]float64 { return r.same(1) },
				"blocks.1.attention": func(r reader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.stream")
				},
				"unembedding": func(r reader) [][]float64 {
					return r.softmax("", "embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.stream", "blocks.1.attention.stream", "blocks.1.feedforward.stream")
				},
			}},
		"attnres in blocks": {stream.AttnResConfig{Block: 3}, []string{"embedding", "blocks.0.attention to 1.attention", "blocks.1.feedforward"}, true, sites,
			map[string]weightsOf{
				"blocks.0.feedforward": func(r reader) [][]float64 {
					return r.softmax("blocks.0.feedforward.", "embedding.out", "blocks.0.attention.stream")
				},
				"blocks.1.attention": func(r reader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.feedforward.stream")
				},
			}},
		"attnres, delta": {stream.AttnResConfig{Delta: true}, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention"}, true, sites[1:4],
			map[string]weightsOf{
				"blocks.1.feedforward": func(r reader) [][]float64 {
					return r.softmax("blocks.1.feedforward.", "embedding.out", "blocks.0.attention.write", "blocks.0.feedforward.write", "blocks.1.attention.write")
				},
			}},
		"attnres, delta in blocks": {stream.AttnResConfig{Block: 2, Delta: true, Gate: true}, []string{"embedding", "blocks.0"}, true, sites[1:4],
			map[string]weightsOf{
				"blocks.0.feedforward": func(r reader) [][]float64 { return r.same(1) },
				"blocks.1.attention": func(r reader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.attention.write + blocks.0.feedforward.write")
				},
			}},
		"mudd": {stream.MUDDConfig{}, []string{"embedding", "blocks.0", "blocks.1"}, false, muddReaders, map[string]weightsOf{
			"blocks.1.attention.k": func(r reader) [][]float64 { return r.connections("blocks.0", 1, 2) },
			"blocks.1.residual":    func(r reader) [][]float64 { return r.connections("blocks.0", 3, 2) },
			"unembedding":          func(r reader) [][]float64 { return r.connections("blocks.1", 0, 3) },
		}},
		"denseformer": {stream.DenseFormerConfig{}, []string{"embedding", "blocks.0", "blocks.1"}, false, []string{"blocks.1", "unembedding"}, map[string]weightsOf{
			"blocks.1":    func(r reader) [][]float64 { return r.same(r.values("blocks.0.dwa")...) },
			"unembedding": func(r reader) [][]float64 { return r.same(r.values("blocks.1.dwa")...) },
		}},
	}
}

// TestWhoReadsWhichLayer: what is drawn and listed are means and deviations over tokens of the weights that the equations give.
func TestWhoReadsWhichLayer(t *testing.T) {
	for name, row := range depthCases() {
		t.Run(name, func(t *testing.T) {
			c, ids := tiny(t, row.design)
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			now, err := mixing.Run(store, c, ids)
			require.NoError(t, err)
			d := now.Depth()
			require.NotNil(t, d)
			assert.Equal(t, row.softmax, d.Softmax)
			figures := d.Figures()
			mean := figures[0].(figure.Heatmap)
			assert.Equal(t, row.sources, mean.Columns)
			assert.Equal(t, row.readers, mean.Rows)
			assert.Equal(t, !row.softmax, mean.Diverging)
			assert.Equal(t, row.softmax, mean.Limits != nil)
			run := runAll(t, store, c, ids)
			for i, name := range mean.Rows {
				if of := row.weights[name]; of != nil {
					checkDrawn(t, of(reader{t, store, run, name}), figures, i)
				}
			}
			require.NoError(t, figure.Check(d.Table()))
			require.NoError(t, figure.Check(d.Strongest()))
			for _, f := range figures {
				require.NoError(t, figure.Check(f))
			}
			_, err = json.Marshal(d)
			require.NoError(t, err)
		})
	}
}

// TestWhatReachesReaders: in a stream of rows it is the product of the coefficients, which are set by hand here; a stream whose gates are no numbers
// has none.
func TestWhatReachesReaders(t *testing.T) {
	c, ids := tiny(t, stream.HyperConfig{N: 2})
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	// A row of the packed parameter is down | carry | up; row i of it is what row i of the stream gives.
	copy(store.Param("blocks.0.attention.hyper.static").Value.Float64s(), []float64{0.5, 2, 1, 3, 0.25, 0, 1, 4})
	copy(store.Param("blocks.0.feedforward.hyper.static").Value.Float64s(), []float64{2, 1, 0, 5, 1, 1, 2, 6})
	d, err := mixing.Reach(store, c, ids)
	require.NoError(t, err)
	of := func(reader int, source string) float64 {
		for _, w := range d.Reads[reader].Weights {
			if w.Source == source {
				assert.Zero(t, w.Spread, "static")
				return w.Mean
			}
		}
		return math.NaN()
	}
	assert.Equal(t, "blocks.0.feedforward", d.Reads[1].Reader)
	assert.InDelta(t, 0.75, of(0, "embedding.tokens"), 1e-12, "0.5 + 0.25 of two rows that are alike")
	assert.True(t, math.IsNaN(of(0, "blocks.0.attention")), "it writes later")
	assert.InDelta(t, 2*3+1*4, of(1, "blocks.0.attention"), 1e-12)
	assert.InDelta(t, 2*2+1*(1+1), of(1, "embedding.tokens"), 1e-12, "rows are 2 x_0 and x_0 + x_1 by then")
	assert.Equal(t, "unembedding", d.Reads[4].Reader)
	require.NoError(t, figure.Check(d.Figures()[0]))
	gated, _ := tiny(t, stream.GatedResidualConfig{N: 2, Rank: 2})
	_, err = mixing.Reach(modeltest.PerturbedStore(t, gated, tensor.Float64), gated, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
}

// checkDrawn compares a row of both pictures with weights [token][source].
func checkDrawn(t *testing.T, weights [][]float64, figures []figure.Figure, row int) {
	mean := figures[0].(figure.Heatmap)
	for j, drawn := range mean.Values[row] {
		if j >= len(weights[0]) {
			assert.True(t, math.IsNaN(drawn), "%s does not read %s", mean.Rows[row], mean.Columns[j])
			continue
		}
		sum, squares := 0.0, 0.0
		for _, w := range weights {
			sum += w[j]
		}
		want := sum / float64(len(weights))
		for _, w := range weights {
			squares += (w[j] - want) * (w[j] - want)
		}
		assert.InDelta(t, want, drawn, 1e-9, "%s of %s", mean.Rows[row], mean.Columns[j])
		if len(figures) > 1 {
			assert.InDelta(t, math.Sqrt(squares/float64(len(weights))), figures[1].(figure.Heatmap).Values[row][j], 1e-9)
		} else {
			assert.InDelta(t, 0, squares, 1e-20)
		}
	}
}

// runAll runs a model and keeps all that its streams' states are made of.
func runAll(t *testing.T, store *graph.Store, c models.Spec, ids []int32, replace ...cache.Intervention) *cache.Cache {
	names := []string{"embedding.out", "blocks.*.*.stream", "blocks.*.*.write"}
	for _, v := range replace {
		names = append(names, v.Name)
	}
	r, err := cache.New(store, c, cache.Options{Names: names})
	require.NoError(t, err)
	defer r.Close()
	run, err := r.Run(ids, replace...)
	require.NoError(t, err)
	return run
}

func (r reader) values(parameter string) []float64 {
	return graph.Float64s(r.store.Param(parameter).Value)
}

// rows are an activation's, one a token.
func (r reader) rows(name string) [][]float64 {
	a, err := r.run.Get(name)
	require.NoError(r.t, err)
	var rows [][]float64
	for token := range r.run.Tokens() {
		row, err := a.Token(token)
		require.NoError(r.t, err)
		rows = append(rows, row)
	}
	return rows
}

// sums are the rows of the activations in a sum, "a + b".
func (r reader) sums(of string) [][]float64 {
	names := strings.Split(of, " + ")
	all := r.rows(names[0])
	for _, name := range names[1:] {
		for token, row := range r.rows(name) {
			floats.Add(all[token], row)
		}
	}
	return all
}

// same are weights that all tokens have.
func (r reader) same(weights ...float64) [][]float64 {
	var all [][]float64
	for range r.run.Tokens() {
		all = append(all, weights)
	}
	return all
}

// softmax are softmax_i(w . (g ⊙ v_i / rms(v_i))).
func (r reader) softmax(prefix string, sources ...string) [][]float64 {
	query, gain := r.values(prefix+"attnres.query"), r.values(prefix+"attnres.norm")
	all := make([][]float64, r.run.Tokens())
	for _, source := range sources {
		for token, v := range r.sums(source) {
			score, scale := 0.0, 1/rms(v)
			for d := range v {
				score += query[d] * gain[d] * v[d] * scale
			}
			all[token] = append(all[token], math.Exp(score))
		}
	}
	for _, weights := range all {
		total := 0.0
		for _, w := range weights {
			total += w
		}
		for i := range weights {
			weights[i] /= total
		}
	}
	return all
}

// connections are W2 GELU(W1 x/rms(x)) + b of a block's output, those of one of its sums.
func (r reader) connections(block string, way, sources int) [][]float64 {
	w1, w2, bias := r.values(block+".mudd.w1"), r.values(block+".mudd.w2"), r.values(block+".mudd.bias")
	var all [][]float64
	for _, x := range r.rows(block + ".feedforward.stream") {
		hidden, scale := make([]float64, len(w1)/len(x)), 1/rms(x)
		for h := range hidden {
			z := 0.0
			for d := range x {
				z += x[d] * scale * w1[d*len(hidden)+h]
			}
			hidden[h] = z / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
		}
		var weights []float64
		for j := way * sources; j < (way+1)*sources; j++ {
			a := bias[j]
			for h, v := range hidden {
				a += v * w2[h*len(bias)+j]
			}
			weights = append(weights, a)
		}
		all = append(all, weights)
	}
	return all
}

// rms is the root of the mean square, with the models' eps.
func rms(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum/float64(len(x)) + 1e-6)
}

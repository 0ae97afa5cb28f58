package analysis_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// depthWeights are the weights of a model's readers, [token][source] each, by the equations.
type depthWeights func(r depthReader) [][]float64

// depthReader is one of a tiny model, with what its weights are made of.
type depthReader struct {
	t     *testing.T
	store *graph.Store
	run   *cache.Cache
	name  string
}

// depthRow is a tiny model with the equations of some of its readers' weights.
type depthRow struct {
	design  stream.Design
	sources []string
	softmax bool
	readers []string
	weights map[string]depthWeights
}

// tinySites are the sites of a tiny model that read, but for the end.
func tinySites() []string {
	return []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward"}
}

// check compares what is drawn and listed with means and deviations over tokens of the weights that
// the equations give.
func (row depthRow) check(t *testing.T) {
	c, ids := mixingModel(t, row.design)
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
	run := runWithStates(t, store, c, ids)
	for i, name := range mean.Rows {
		if of := row.weights[name]; of != nil {
			checkDrawnWeights(t, of(depthReader{t, store, run, name}), figures, i)
		}
	}
	require.NoError(t, figure.Check(d.Table()))
	require.NoError(t, figure.Check(d.Strongest()))
	for _, f := range figures {
		require.NoError(t, figure.Check(f))
	}
	_, err = json.Marshal(d)
	require.NoError(t, err)
}

// checkDrawnWeights compares a row of both pictures with weights [token][source].
func checkDrawnWeights(t *testing.T, weights [][]float64, figures []figure.Figure, row int) {
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

// runWithStates runs a model and keeps all that its streams' states are made of.
func runWithStates(t *testing.T, store *graph.Store, spec models.Spec, ids []int32, replace ...cache.Intervention) *cache.Cache {
	names := []string{"embedding.out", "blocks.*.*.stream", "blocks.*.*.write"}
	for _, v := range replace {
		names = append(names, v.Name)
	}
	r, err := cache.New(store, spec, cache.Options{Names: names})
	require.NoError(t, err)
	defer r.Close()
	run, err := r.Run(ids, replace...)
	require.NoError(t, err)
	return run
}

func (r depthReader) values(parameter string) []float64 {
	return graph.Float64s(r.store.Param(parameter).Value)
}

// rows are an activation's, one a token.
func (r depthReader) rows(name string) [][]float64 {
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
func (r depthReader) sums(of string) [][]float64 {
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
func (r depthReader) same(weights ...float64) [][]float64 {
	var all [][]float64
	for range r.run.Tokens() {
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

package analysis_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
)

// drawable is implemented by the result of every analysis.
type drawable interface {
	Table() figure.Table
	Figures() []figure.Figure
}

// TestDrawings: tables have as many cells as columns, figures can be drawn, and results
// written as JSON, for two streams; with all tests for every stream.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			longtest.Represent(t, name == "matrix" || name == "vector")
			for what, r := range drawables(t, c) {
				checkDrawing(t, what, r)
			}
		})
	}
}

func drawables(t *testing.T, spec models.Spec) map[string]drawable {
	store, ids, loss := modeltest.PerturbedStore(t, spec, tensor.Float64), tokensFor(spec, 4, 5), analysis.NextTokenLoss()
	other := append([]int32{(ids[0] + 1) % int32(spec.Vocab)}, ids[1:]...)
	run, err := analysis.Run(store, spec, ids, "blocks.*.attention.pattern")
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	all := map[string]drawable{}
	add := func(what string, r drawable, err error) {
		require.NoError(t, err, what)
		all[what] = r
	}
	attribution, err := d.Attribute(3, 1, 2)
	add("attribution", attribution, err)
	lens, err := d.Lens(3, 1)
	add("lens", lens, err)
	lenses, err := d.LensMap()
	add("lens map", lenses, err)
	patterns, err := analysis.Patterns(run, 0)
	add("patterns", patterns, err)
	scores, err := analysis.InductionScores(t.Context(), store, spec, 2, 2, 1)
	add("induction", scores, err)
	heads, err := ablateHeads(store, spec, ids, loss)
	add("ablate heads", heads, err)
	writers, err := ablateWriters(store, spec, ids[:2], loss)
	add("ablate writers", writers, err)
	one, err := ablate(store, spec, ids, []string{"embedding.tokens"}, cache.At{"token": 1}, loss)
	add("ablate", one, err)
	streams, err := analysis.PatchStream(t.Context(), store, spec, ids, other, loss)
	add("patch stream", streams, err)
	patched, err := analysis.PatchHeads(t.Context(), store, spec, ids, other, loss)
	add("patch heads", patched, err)
	return all
}

func checkDrawing(t *testing.T, what string, r drawable) {
	table := r.Table()
	require.NotEmpty(t, table.Rows, what)
	assert.NotEmpty(t, table.Title, what)
	assert.Len(t, table.Align, len(table.Header), what)
	for _, row := range table.Rows {
		assert.Len(t, row, len(table.Header), what)
	}
	require.NotEmpty(t, r.Figures(), what)
	for _, f := range r.Figures() {
		assert.NotEmpty(t, f.Heading(), what)
		svg, err := figure.SVG(f)
		require.NoError(t, err, what)
		assert.Contains(t, string(svg), "<svg", what)
	}
	_, err := json.Marshal(r)
	assert.NoError(t, err, what)
}

// requireResult wants an analysis's table, JSON and, if it has them, figures to be in order.
func requireResult(t *testing.T, r interface{ Table() figure.Table }) {
	t.Helper()
	_, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotEmpty(t, r.Table().Rows)
	require.NoError(t, figure.Check(r.Table()))
	drawn, ok := r.(drawable)
	if !ok {
		return
	}
	for _, f := range drawn.Figures() {
		require.NoError(t, figure.Check(f), f.Heading())
	}
}

// checkResult also requires figures.
func checkResult(t *testing.T, r drawable) {
	t.Helper()
	requireResult(t, r)
	assert.NotEmpty(t, r.Figures())
}

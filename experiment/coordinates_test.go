package experiment

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// coordinates is a plan of a coordinate check: a constant rate, with nothing that could hide how
// large an update is.
func coordinates(t *testing.T, text string, sets ...string) *Plan {
	t.Helper()
	c := parsed(t, text)
	c.Base = "quickstart"
	c.Set = append(c.Set, "train.batch=4", "train.steps=10", "train.lr=1e-3", "train.schedule=constant", "train.warmup=0", "train.weight_decay=0", "train.clip=0", "train.z_loss=0")
	c.Set = append(c.Set, sets...)
	return settled(t, c, t.TempDir())
}

// growthsOf follows a series of a trained plan.
func growthsOf(t *testing.T, p *Plan, series, parametrisation string) []growth {
	t.Helper()
	_, err := p.readLog()
	require.NoError(t, err)
	r := &Results{plan: p}
	for _, c := range p.cells {
		s, err := c.state()
		require.NoError(t, err)
		require.Empty(t, s.todo)
		r.cells = append(r.cells, Result{c, s})
	}
	return r.growths(series, parametrisation)
}

func TestMeanSizes(t *testing.T) {
	size, change := meanSizes([]float64{1, 1}, []float64{-3, 2})
	assert.Equal(t, []eval.Number{2.5, 2.5}, []eval.Number{size, change})
}

func TestGrowthsSlope(t *testing.T) {
	g := growth{widths: []float64{1, 2, 4, 16}}
	for _, w := range g.widths {
		g.size = append(g.size, 3*math.Pow(w, -0.75))
	}
	assert.InDelta(t, -0.75, g.slope(g.size), 1e-12)
	assert.True(t, math.IsNaN(g.slope([]float64{1, 2, math.NaN(), 3})))
	assert.True(t, math.IsNaN(growth{widths: []float64{1}}.slope([]float64{2})))
}

// TestCoordinates is the check itself: under muP no activation's size, nor what training
// changed of it, depends much on the width; in the standard parametrisation the logits,
// sums of D products that all move the same way, grow nearly as the width. The matrix
// stream's few keys make one draw of them noisy: three are averaged.
func TestCoordinates(t *testing.T) {
	longtest.Skip(t)
	t.Run("vector", func(t *testing.T) {
		requireCoordinates(t, "vector", "experiment: {kind: coordinates, streams: [vector], widths: [1, 4]}")
	})
	t.Run("matrix", func(t *testing.T) {
		requireCoordinates(t, "matrix", "seeds: 3\nexperiment: {kind: coordinates, streams: [matrix], widths: [1, 2, 4]}")
	})
}

// flat is the largest slope that counts as none: a coordinate that should keep its size
// moves by less than a quarter over a width of x4. What muP mends is beyond 0.5.
const flat = 0.15

func requireCoordinates(t *testing.T, name, text string) {
	t.Helper()
	p := coordinates(t, text)
	trained(t, p, Options{Jobs: 2})
	under, without := growthsOf(t, p, name, muP), growthsOf(t, p, name, standard)
	require.Len(t, under, 1+4*2+2)
	for i, g := range under {
		t.Logf("%-28s %.3g  %+.2f, change %+.2f", g.name, g.size, g.slope(g.size), g.slope(g.change))
		assert.Less(t, math.Abs(g.slope(g.size)), flat, "muP, %s", g.name)
		assert.Less(t, math.Abs(g.slope(g.change)), flat, "muP, change of %s", g.name)
		require.Equal(t, g.size[0], without[i].size[0], "at x1 both are the same training, bit for bit")
	}
	logits := without[len(without)-1]
	assert.Equal(t, logitsName, logits.name)
	assert.Greater(t, logits.slope(logits.size), 0.5, "standard")
}

// TestKeysOfOneWidth: where the rank grows alone, under muP too training changes the stream the
// more the wider it is; where dk grows with it, it does not.
func TestKeysOfOneWidth(t *testing.T) {
	longtest.Skip(t) // trains a rank of 128
	p := coordinates(t, "experiment: {kind: coordinates, streams: [matrix-rank, matrix], widths: [8, 32]}",
		"train.steps=3", "model.layers=1", "model.stream.dv=2", "model.feedforward.hidden=16", "model.stream.dk=16", "model.stream.rank=4")
	trained(t, p, Options{Jobs: 2})
	change := func(series string) float64 {
		embedding := growthsOf(t, p, series, muP)[0]
		return embedding.slope(embedding.change)
	}
	assert.Greater(t, change("matrix-rank"), 0.25)
	assert.Less(t, math.Abs(change("matrix")), 0.1)
}

// TestCoordinatesReport: tables and figure, also of a check that is not finished.
func TestCoordinatesReport(t *testing.T) {
	p := coordinates(t, "seeds: 2\nexperiment: {kind: coordinates, streams: [vector, matrix-dv], widths: [1, 2]}",
		"train.steps=2", "model.layers=1", "model.seq=8", "model.feedforward.hidden=16")
	predicted, err := p.Predict(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 2*2*2*2, predicted.Todo)
	trained(t, p, Options{Only: []string{"vector"}})
	assert.NotContains(t, report(t, p).Text(), "matrix-dv: scales")
	trained(t, p, Options{Jobs: 3})
	r := report(t, p)
	text := r.Text()
	assert.Contains(t, text, "matrix-dv: scales dv (a head's size) and feed-forward: stream Dk*Dv and features R*Dv; 64 tokens at 0.001, one batch again and again, 2 seeds")
	assert.Regexp(t, `\nmuP +blocks\.0\.attention\.heads +[0-9.e-]+ +[0-9.e-]+ +[+-][0-9.]+ +[+-][0-9.]+\n`, text)
	assert.Regexp(t, `\nSteepest of vector, standard: [+-][0-9.]+ \(`, text)
	panels := r.Picture.(figure.Panels)
	require.Len(t, panels.Charts, 4)
	assert.Equal(t, "matrix-dv, muP", panels.Charts[2].Title)
	assert.Len(t, panels.Charts[2].Series, strings.Count(text, "\nmuP ")/2)
}

// TestScalingsGrow: each grows what it says, and its muP config is valid and, at width 1, the
// smallest model itself.
func TestScalingsGrow(t *testing.T) {
	var all []string
	for _, s := range scalingsOf(models.Standard()) {
		all = append(all, s.name)
	}
	p := coordinates(t, "experiment: {kind: coordinates, widths: [1, 3], streams: ["+strings.Join(all, ", ")+"]}")
	for i := 0; i < len(p.cells); i += 4 { // muP at x1 and x3, standard at x1 and x3
		spec := func(k int) models.Spec {
			return p.cells[i+k].first.Run.Spec()
		}
		small, err := p.parse(p.cells[i].settings[:len(p.cells[i].settings)-len(p.cells[i].point.Set)])
		require.NoError(t, err)
		assert.Equal(t, small.Spec(), spec(2))
		assert.NoError(t, small.Spec().SameModel(spec(0)))
		for _, wide := range []int{1, 3} {
			assert.Greater(t, spec(wide).Cost().Parameters, spec(0).Cost().Parameters)
			assert.True(t, spec(wide).Width() != spec(0).Width() || spec(wide).StreamSize() != spec(0).StreamSize(), p.cells[i].series)
		}
	}
}

// TestOneBatch: a coordinate check trains on the first batch of its seed again and again.
func TestOneBatch(t *testing.T) {
	p := coordinates(t, "seeds: 2\nexperiment: {kind: coordinates, streams: [vector]}")
	draw := func(run *Planned) [2][]int32 {
		text, err := corpora{}.of(t.Context(), run.Run)
		require.NoError(t, err)
		batch, err := firstBatch(run.Run, text)
		require.NoError(t, err)
		var drawn [2][]int32
		for i := range drawn {
			drawn[i] = make([]int32, run.Run.StepTokens())
			require.NoError(t, batch(drawn[i], make([]int32, run.Run.StepTokens())))
		}
		return drawn
	}
	first, second := draw(runs(t, p)[0]), draw(runs(t, p)[1])
	assert.Equal(t, first[0], first[1])
	assert.NotEqual(t, first[0], second[0], "another seed")
}

// TestNoDesigns: a zoo without a design for which muP is known is refused.
func TestNoDesigns(t *testing.T) {
	c := parsed(t, "experiment: {kind: coordinates}")
	p, err := models.Standard().Preset("mhc-162m")
	require.NoError(t, err)
	_, err = c.Plan(t.Context(), models.Zoo{}.With(p.Config.Stream, p), t.TempDir())
	assert.ErrorContains(t, err, "want a design that coordinates can be made with, got a zoo with none")
}

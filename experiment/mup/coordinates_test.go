package mup

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

func TestSlope(t *testing.T) {
	widths := []int{1, 2, 4, 16}
	var values []trainer.Number
	for _, w := range widths {
		values = append(values, trainer.Number(3*math.Pow(float64(w), -0.75)))
	}
	assert.InDelta(t, -0.75, float64(slope(widths, values)), 1e-12)
	assert.False(t, slope(widths, []trainer.Number{1, 2, trainer.Number(math.NaN()), 3}).Finite())
}

func TestSizesAreMeans(t *testing.T) {
	a := Activation{Size: make([]trainer.Number, 2), Change: make([]trainer.Number, 2)}
	a.add(1, 0.5, []float64{1, 1}, []float64{-3, 2})
	assert.Equal(t, []trainer.Number{0, 1.25}, a.Size)
	assert.Equal(t, []trainer.Number{0, 1.25}, a.Change)
}

// TestCoordinates is the check itself: under muP no activation's size, nor what training
// changed of it, depends much on the width; in the standard parametrisation the logits,
// sums of D products that all move the same way, grow nearly as the width. The matrix
// stream's few keys make one draw of them noisy: three are averaged.
func TestCoordinates(t *testing.T) {
	t.Run("vector", func(t *testing.T) { requireCoordinates(t, "vector", []int{1, 4}, 1) })
	if testing.Short() {
		t.Skip("the matrix stream trains at more widths and seeds")
	}
	t.Run("matrix", func(t *testing.T) { requireCoordinates(t, "matrix", []int{1, 2, 4}, 3) })
}

// flat is the largest slope that counts as none: a coordinate that should keep its size
// moves by less than a quarter over a width of x4. Those that muP mends are beyond 0.5.
const flat = 0.15

func requireCoordinates(t *testing.T, name string, widths []int, seeds int) {
	t.Helper()
	check, err := CheckCoordinates(context.Background(), scaling(t, name), CoordinateOptions{Widths: widths, Seeds: seeds, Set: experimenttest.Text(t)})
	require.NoError(t, err)
	assert.Equal(t, 10, check.Steps)
	require.Len(t, check.Activations, 2*(1+4*2+2))
	for _, a := range check.Activations {
		t.Logf("%-9s %-28s %.3g  %+.2f, change %+.2f", a.Parametrisation, a.Name, a.Size, a.SizeSlope, a.ChangeSlope)
		if a.Parametrisation == MuP {
			assert.Less(t, math.Abs(float64(a.SizeSlope)), flat, "muP, %s", a.Name)
			assert.Less(t, math.Abs(float64(a.ChangeSlope)), flat, "muP, change of %s", a.Name)
		} else if a.Name == logitsName {
			assert.Greater(t, float64(a.SizeSlope), 0.5, "standard, %s", a.Name)
		}
	}
	requireSameBase(t, check)
}

// requireSameBase: at x1 muP and standard are the same training, bit for bit.
func requireSameBase(t *testing.T, check *Coordinates) {
	t.Helper()
	n := len(check.Activations) / 2
	for i, a := range check.Activations[:n] {
		require.Equal(t, a.Size[0], check.Activations[n+i].Size[0], a.Name)
	}
}

// TestKeysOfOneWidth: where the rank grows alone, under muP too training changes the stream the more
// the wider it is; where dk grows with it, it does not.
func TestKeysOfOneWidth(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a rank of 128")
	}
	change := func(name string) float64 {
		s, widths := scaling(t, name), []int{8, 32}
		base, err := s.base(coordinateTraining, 3, 1e-3, 0, append(experimenttest.Text(t), "model.layers=1", "model.stream.dv=2", "model.feedforward.hidden=16", "model.stream.dk=16", "model.stream.rank=4"))
		require.NoError(t, err)
		text, err := loadText(context.Background(), base)
		require.NoError(t, err)
		embedding := newActivations(MuP, []string{"embedding.out"}, len(widths))
		for at, m := range widths {
			wide, err := s.at(base, m, MuP)
			require.NoError(t, err)
			require.NoError(t, measure(context.Background(), wide, text, embedding, at, 1))
		}
		return float64(slope(widths, embedding[0].Change))
	}
	assert.Greater(t, change("matrix-rank"), 0.25)
	assert.Less(t, math.Abs(change("matrix")), 0.1)
}

// TestCoordinateReport: the table, the figure, and that JSON keeps all.
func TestCoordinateReport(t *testing.T) {
	var checks []*Coordinates
	for _, name := range []string{"vector", "matrix-dv"} {
		set := append(experimenttest.Text(t), "model.layers=1", "model.seq=8", "model.feedforward.hidden=16")
		check, err := CheckCoordinates(context.Background(), scaling(t, name), CoordinateOptions{Widths: []int{1, 2}, Steps: 2, Seeds: 2, Set: set})
		require.NoError(t, err)
		checks = append(checks, check)
	}
	text := checks[1].Text()
	assert.Contains(t, text, "matrix-dv: scales dv")
	assert.Regexp(t, `\nmuP +blocks\.0\.attention\.heads +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ +[+-][0-9.]+\n`, text)
	assert.Regexp(t, `steepest, standard: [+-][0-9.]+ \(`, text)
	panels := CoordinateFigure(checks)
	require.Len(t, panels.Charts, 4)
	assert.Equal(t, "matrix-dv, muP, after 2 steps", panels.Charts[2].Title)
	assert.Len(t, panels.Charts[2].Series, len(checks[1].Activations)/2)

	line, err := json.Marshal(checks[0])
	require.NoError(t, err)
	var back Coordinates
	require.NoError(t, json.Unmarshal(line, &back))
	assert.Equal(t, *checks[0], back)
}

func TestOptionsAreChecked(t *testing.T) {
	s, set := scaling(t, "vector"), experimenttest.Text(t)
	for want, o := range map[string]CoordinateOptions{
		"want 2 or more ascending widths, multiples of the base, got [1]":   {Widths: []int{1}},
		"want 2 or more ascending widths, multiples of the base, got [2 1]": {Widths: []int{2, 1}},
		"want steps >= 1, got -1":     {Steps: -1},
		"want Seeds >= 1":             {Seeds: -1},
		"model.attention.heads: want": {Set: append(set, "model.attention.heads=3")},
	} {
		_, err := CheckCoordinates(context.Background(), s, o)
		var setup *experiment.SetupError
		require.ErrorAs(t, err, &setup, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := Find(models.Standard(), []string{"vektor"})
	assert.ErrorContains(t, err, `want some of matrix, matrix-dv, matrix-rank, matrix-dk, vector, got "vektor"`)
}

// TestScalingsGrow: each grows what it says, and its muP config is valid and, at width 1, the base
// itself.
func TestScalingsGrow(t *testing.T) {
	for _, s := range Scalings(models.Standard()) {
		base, err := s.base(coordinateTraining, 1, 1, 0, nil)
		require.NoError(t, err)
		for _, p := range parametrisations() {
			one, err := s.at(base, 1, p)
			require.NoError(t, err)
			if p == Standard {
				assert.Equal(t, base.Spec(), one.model, s.Name)
			}
			assert.NoError(t, base.Spec().SameModel(one.model), s.Name)
			three, err := s.at(base, 3, p)
			require.NoError(t, err)
			assert.Greater(t, three.model.Cost().Parameters, base.Spec().Cost().Parameters, s.Name)
			assert.True(t, base.Spec().Width() != three.model.Width() || base.Spec().StreamSize() != three.model.StreamSize(), s.Name)
		}
	}
}

// TestTrainingBatches: fixed is one batch, otherwise each step has another.
func TestTrainingBatches(t *testing.T) {
	base, err := scaling(t, "vector").base(coordinateTraining, 1, 1e-3, 0, append(experimenttest.Text(t), "model.layers=1", "model.seq=8"))
	require.NoError(t, err)
	text, err := loadText(context.Background(), base)
	require.NoError(t, err)
	inputs := func(fixed bool) []int32 {
		l, err := newLearner(trial{base, base.Spec()}, text, fixed, nil)
		require.NoError(t, err)
		defer l.Close()
		for range 2 {
			_, err = l.Step()
			require.NoError(t, err)
		}
		return slices.Clone(l.Program().Ints("tokens"))
	}
	assert.NotEqual(t, inputs(true), inputs(false))
}

// scaling is the one of that name.
func scaling(t *testing.T, name string) Scaling {
	t.Helper()
	found, err := Find(models.Standard(), []string{name})
	require.NoError(t, err)
	return found[0]
}

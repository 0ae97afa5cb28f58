package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

func TestSlope(t *testing.T) {
	widths := []int{1, 2, 4, 16}
	var values []number
	for _, w := range widths {
		values = append(values, number(3*math.Pow(float64(w), -0.75)))
	}
	assert.InDelta(t, -0.75, float64(slope(widths, values)), 1e-12)
	assert.False(t, slope(widths, []number{1, 2, number(math.NaN()), 3}).finite())
}

func TestSizesAreMeans(t *testing.T) {
	a := activationSizes{Size: make([]number, 2), Change: make([]number, 2)}
	a.add(1, 0.5, []float64{1, 1}, []float64{-3, 2})
	assert.Equal(t, []number{0, 1.25}, a.Size)
	assert.Equal(t, []number{0, 1.25}, a.Change)
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

func requireCoordinates(t *testing.T, stream string, widths []int, seeds int) {
	t.Helper()
	f, err := findFamilies(models.Standard(), stream)
	require.NoError(t, err)
	base, err := f[0].run(checkTraining, checkSteps, checkRate, 0, setsOf(text(t)))
	require.NoError(t, err)
	corpus, err := loadCorpus(context.Background(), base)
	require.NoError(t, err)
	check, err := checkFamily(context.Background(), f[0], base, corpus, widths, seeds)
	require.NoError(t, err)
	require.Len(t, check.Activations, 2*(1+4*2+2))
	for _, a := range check.Activations {
		t.Logf("%-9s %-28s %.3g  %+.2f, change %+.2f", a.Parametrisation, a.Name, a.Size, a.SizeSlope, a.ChangeSlope)
		if a.Parametrisation == maximal {
			assert.Less(t, math.Abs(float64(a.SizeSlope)), flat, "muP, %s", a.Name)
			assert.Less(t, math.Abs(float64(a.ChangeSlope)), flat, "muP, change of %s", a.Name)
		} else if a.Name == logitsName {
			assert.Greater(t, float64(a.SizeSlope), 0.5, "standard, %s", a.Name)
		}
	}
	requireSameBase(t, check)
}

// requireSameBase: at x1 muP and standard are the same training, bit for bit.
func requireSameBase(t *testing.T, check *coordinates) {
	t.Helper()
	n := len(check.Activations) / 2
	for i, a := range check.Activations[:n] {
		require.Equal(t, a.Size[0], check.Activations[n+i].Size[0], a.Name)
	}
}

// TestKeysOfOneWidth: where the rank grows alone, under muP too training changes the stream
// the more the wider it is; where dk grows with it, it does not (see families).
func TestKeysOfOneWidth(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a rank of 128")
	}
	change := func(stream string) float64 {
		f, err := findFamilies(models.Standard(), stream)
		require.NoError(t, err)
		base, err := f[0].run(checkTraining, 3, checkRate, 0, append(setsOf(text(t)), "model.layers=1", "model.stream.dv=2", "model.feedforward.hidden=16", "model.stream.dk=16", "model.stream.rank=4"))
		require.NoError(t, err)
		corpus, err := loadCorpus(context.Background(), base)
		require.NoError(t, err)
		widths := []int{8, 32}
		embedding := []activationSizes{{Name: "embedding.out", Size: make([]number, 2), Change: make([]number, 2)}}
		for at, m := range widths {
			run, err := f[0].at(base, m, maximal)
			require.NoError(t, err)
			require.NoError(t, measure(context.Background(), run, corpus, embedding, at, 1))
		}
		return float64(slope(widths, embedding[0].Change))
	}
	assert.Greater(t, change("matrix-rank"), 0.25)
	assert.Less(t, math.Abs(change("matrix")), 0.1)
}

// TestCoordinateCheckCommand: the table, the picture and JSON.
func TestCoordinateCheckCommand(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-coordcheck", "-stream", "vector,matrix-dv", "-widths", "2,1", "-steps", "2", "-seeds", "2", "-out", dir,
		"-set", "model.layers=1", "-set", "model.seq=8", "-set", "model.feedforward.hidden=16")
	got := clitest.Call(command(models.Standard()), args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "matrix-dv: scales dv")
	assert.Regexp(t, `\nmuP +blocks\.0\.attention\.heads +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ +[+-][0-9.]+\n`, got.Stdout)
	assert.Regexp(t, `steepest, standard: [+-][0-9.]+ \(`, got.Stdout)
	picture, err := os.ReadFile(filepath.Join(dir, "coordcheck.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), "blocks.0.feedforward.stream")

	got = clitest.Call(command(models.Standard()), append(args, "-json")...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var checks []coordinates
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &checks))
	require.Len(t, checks, 2)
	assert.Equal(t, []int{1, 2}, checks[0].Widths)
	assert.Equal(t, 2, checks[0].Seeds)
}

// TestFamiliesScale: each family grows what it says, and its muP config is valid and, at
// width 1, the base itself.
func TestFamiliesScale(t *testing.T) {
	for _, f := range families(models.Standard()) {
		base, err := f.run(checkTraining, 1, 1, 0, nil)
		require.NoError(t, err)
		for _, p := range parametrisations() {
			one, err := f.at(base, 1, p)
			require.NoError(t, err)
			if p == standard {
				assert.Equal(t, base.Spec(), one.model, f.name)
			}
			assert.NoError(t, base.Spec().SameModel(one.model), f.name)
			three, err := f.at(base, 3, p)
			require.NoError(t, err)
			assert.Greater(t, three.model.Cost().Parameters, base.Spec().Cost().Parameters, f.name)
			assert.True(t, base.Spec().Width() != three.model.Width() || base.Spec().StreamSize() != three.model.StreamSize(), f.name)
		}
	}
}

// TestSmallTrainsOnBatches: fixed is one batch, otherwise each step has another.
func TestSmallTrainsOnBatches(t *testing.T) {
	f, err := findFamilies(models.Standard(), "vector")
	require.NoError(t, err)
	base, err := f[0].run(checkTraining, 1, 1e-3, 0, append(setsOf(text(t)), "model.layers=1", "model.seq=8"))
	require.NoError(t, err)
	corpus, err := loadCorpus(context.Background(), base)
	require.NoError(t, err)
	inputs := func(corpus *data.Corpus, fixed bool) []int32 {
		s, err := newSmall(trial{base, base.Spec()}, corpus, nil)
		require.NoError(t, err)
		defer s.close()
		s.fixed = fixed
		require.NoError(t, s.train(context.Background(), 1))
		return append([]int32(nil), s.program.Ints("tokens")...)
	}
	assert.NotEqual(t, inputs(corpus, true), inputs(corpus, false))
}

package compare

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
)

func TestBuiltInConfigsAreFoundInAnyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	p := Plan{Zoo: models.Standard(), Out: "out", Rates: []float64{1e-3, 1e-2}}
	trainings, err := p.Trainings(context.Background(), of("quickstart", "mhc"))
	require.NoError(t, err)
	require.Len(t, trainings, 2)
	for i, name := range []string{"quickstart", "mhc"} {
		assert.Equal(t, name, trainings[i].Name)
		require.Len(t, trainings[i].Runs, 2)
		assert.Equal(t, [2]float64{1e-3, 1e-4}, [2]float64{trainings[i].Runs[0].Train.LR, trainings[i].Runs[0].Train.MinLR})
	}
}

// TestEachConfigIsReadOnce: a pipe can be read once only.
func TestEachConfigIsReadOnce(t *testing.T) {
	file := experimenttest.Config(t, t.TempDir(), "a", experimenttest.Vector)
	parse, err := Plan{Zoo: models.Standard()}.parser(context.Background(), Config{File: file})
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	for range 2 {
		run, err := parse("data.path=[text.txt]", "data.source=files")
		require.NoError(t, err)
		assert.Equal(t, "vector", run.Spec().Stream.Name())
	}
}

// TestTrainingsRefuses: what cannot be compared, or is no config, is found before anything is trained.
func TestTrainingsRefuses(t *testing.T) {
	dir := t.TempDir()
	a, other := experimenttest.Config(t, dir, "a", experimenttest.Vector), experimenttest.Config(t, t.TempDir(), "a", experimenttest.Vector)
	masked := filepath.Join(dir, "masked.yaml")
	require.NoError(t, os.WriteFile(masked, []byte("model: {"+experimenttest.Vector+"}\ndata: {mask_documents: true}\ntrain: {batch: 2, steps: 4, lr: 1e-2}\n"), 0o644))
	for want, c := range map[string]struct {
		files []string
		set   []string
	}{
		`want a name for each config, got "a" for`:      {files: []string{a, other}},
		"want the same data for all configs":            {files: []string{a, masked}},
		"none.yaml":                                     {files: []string{filepath.Join(dir, "none.yaml")}},
		"model.attention.heads":                         {files: []string{a}, set: []string{"model.attention.heads=3"}},
		`got "mch"; did you mean mhc? (train -configs `: {files: []string{"mch"}},
	} {
		_, err := Plan{Zoo: models.Standard(), Set: c.set}.Trainings(context.Background(), of(c.files...))
		var setup *experiment.SetupError
		require.ErrorAs(t, err, &setup, want)
		assert.ErrorContains(t, err, want)
	}
}

func TestParseBudget(t *testing.T) {
	b, err := ParseBudget("tokens=1e3")
	require.NoError(t, err)
	assert.Equal(t, Budget{Tokens, 1000}, b)
	for _, text := range []string{"steps=3", "tokens=0", "tokens=", "tokens", "flops=NaN", "flops=1e400"} {
		_, err := ParseBudget(text)
		assert.ErrorContains(t, err, "want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got \""+text, text)
	}
}

package experiment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// sizes is a kind of another module with every ability: its series are two depths of a preset that
// it adds to the zoo, and a run's loss is its number of blocks.
type sizes struct{ experiment.Plain }

func (sizes) Name() string { return "sizes" }

func (sizes) TimesEvaluated() int { return 3 }

func (sizes) Gather(zoo models.Zoo) (models.Zoo, []experiment.Series, error) {
	plain, err := zoo.Preset("quickstart-transformer")
	plain.Name = "deep"
	set := []string{"model.preset=deep"}
	return zoo.WithPresets(plain), []experiment.Series{{Name: "one", Set: append(set, "model.layers=1")}, {Name: "two", Set: append(set, "model.layers=2")}}, err
}

func (sizes) Measure(_ context.Context, run *runconfig.Run, _ *data.Corpus, r *experiment.Record) error {
	r.Loss, r.Tokens = eval.Number(run.Spec().Layers), int64(run.Train.EvalEvery)
	return nil
}

func (sizes) Report(r *experiment.Results) experiment.Report {
	t := figure.NewTable("", "lr", "series", "loss")
	for _, c := range r.Cells() {
		t.Row(c.Name(), fmt.Sprintf("%g, evaluated every %d steps", c.Runs()[0].Loss, c.Runs()[0].Tokens))
	}
	return experiment.Report{Tables: []figure.Table{t}}
}

// TestKindOfAnotherModule: a kind of the zoo's may do what this package's kinds do: gather series,
// have its runs evaluated several times, and measure them in memory.
func TestKindOfAnotherModule(t *testing.T) {
	zoo, dir := models.Standard().WithKinds(sizes{}), t.TempDir()
	base := experimenttest.Config(t, dir, "base", experimenttest.Vector)
	set, err := json.Marshal(append(experimenttest.Text(t), "train.steps=30"))
	require.NoError(t, err)
	text := fmt.Sprintf("base: %s\nset: %s\nexperiment: {kind: sizes}\n", base, set)
	file := filepath.Join(dir, "sizes.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := experiment.Load(experiment.Kinds(zoo), file, nil)
	require.NoError(t, err)
	p, err := c.Plan(t.Context(), zoo, filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.NoError(t, p.Train(t.Context(), experiment.Options{Jobs: 1}))
	r, err := p.Report()
	require.NoError(t, err)
	at := slices.IndexFunc(r.Tables, func(t figure.Table) bool { return slices.Equal(t.Header, []string{"series", "loss"}) })
	require.GreaterOrEqual(t, at, 0)
	assert.Equal(t, [][]string{{"one", "1, evaluated every 10 steps"}, {"two", "2, evaluated every 10 steps"}}, r.Tables[at].Rows)
}

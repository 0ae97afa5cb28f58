package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// TestWorkloadsAreThoseOfTheComparison checks sizes and FLOPs against the numbers in the project's
// goals.
func TestWorkloadsAreThoseOfTheComparison(t *testing.T) {
	chosen, err := Choose(models.Standard(), nil, Size{})
	require.NoError(t, err)
	for i, want := range []struct {
		name              string
		batch, seq, vocab int
		millions          float64 // parameters
		megaFLOPs         float64 // for a token, forward and backward
	}{
		{"rmt-46m", 8, 256, 50257, 45.8, 165},
		{"transformer-49m", 8, 256, 50257, 49.3, 183},
		{"byte-rmt", 16, 256, 257, 2.31, 16},
		{"byte-transformer", 16, 256, 257, 3.35, 21},
		{"rmt-134m", 4, 512, 50257, 134.3, 610},
		{"transformer-162m", 4, 512, 50257, 162.5, 770},
	} {
		w := chosen[i]
		require.Equal(t, want.name, w.Name)
		cost := w.Spec.Cost()
		assert.Equal(t, []int{want.batch, want.seq, want.vocab}, []int{w.Batch, w.Spec.Seq, w.Spec.Vocab}, want.name)
		assert.InEpsilon(t, want.millions, float64(cost.Parameters)/1e6, 5e-3, want.name)
		assert.InEpsilon(t, want.megaFLOPs, float64(cost.TrainFLOPs())/1e6, 3e-2, want.name)
	}
}

// requireTravels checks that a child trains the model that the parent sent.
func requireTravels(t *testing.T, w Workload) {
	t.Helper()
	b := &Bench{o: Options{Target: Target{Threads: 3}}}
	sent, err := b.job(residua, w).encoded()
	require.NoError(t, err)
	text, err := json.Marshal(sent)
	require.NoError(t, err)
	var arrived job
	require.NoError(t, json.Unmarshal(text, &arrived))
	got, err := arrived.workload(models.Standard())
	require.NoError(t, err)
	w.Preset = models.Preset{}
	assert.Equal(t, w, got)
	assert.Equal(t, []any{residua, Target{Threads: 3}}, []any{arrived.Implementation, arrived.Target})
}

func TestJobsTravel(t *testing.T) {
	chosen, err := Choose(models.Standard(), nil, Size{})
	require.NoError(t, err)
	for _, w := range chosen {
		requireTravels(t, w)
	}
	_, err = job{Model: json.RawMessage(`{"layers": 1, "stream": {"kind": "tensor"}}`)}.workload(models.Standard())
	assert.ErrorContains(t, err, `"tensor"`)
}

func names(list []Workload) []string {
	return namesOf(list, func(w Workload) string { return w.Name })
}

func TestChoose(t *testing.T) {
	chosen, err := Choose(models.Standard(), []string{"rmt-206m", "byte-rmt", "rmt-206m"}, Size{Seq: 128})
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	assert.Equal(t, 18, chosen[0].Spec.Layers)
	assert.Equal(t, 4*128, chosen[0].tokens())
	all, err := Choose(models.Standard(), nil, Size{})
	require.NoError(t, err)
	assert.Equal(t, ModelNames(), names(all))
}

// TestGroupsPutSizesTogether: a group has the models that are compared with one transformer, and
// that transformer.
func TestGroupsPutSizesTogether(t *testing.T) {
	chosen, err := Choose(models.Standard(), strings.Split("byte-transformer,rmt-46m,rmt-206m,byte-rmt,mhc-162m,quickstart-mhc,highway-191m", ","), Size{})
	require.NoError(t, err)
	var all [][]string
	for _, g := range groups(chosen) {
		all = append(all, names(g))
	}
	assert.Equal(t, [][]string{{"byte-transformer", "byte-rmt", "quickstart-mhc"}, {"rmt-46m"}, {"rmt-206m"}, {"mhc-162m", "highway-191m"}}, all)
}

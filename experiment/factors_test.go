package experiment

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/models"
)

// TestFactor: log tokens are interpolated linearly over the loss, and nothing is extrapolated.
func TestFactor(t *testing.T) {
	c := curve{{3, 100}, {2, 400}, {1, 800}}
	for _, want := range []struct {
		loss, factor float64
		bound        string
	}{
		{3, 1, ""}, {2.5, 2, ""}, {2, 4, ""}, {1.5, 4 * math.Sqrt2, ""}, {1, 8, ""},
		{3.1, 1, "< "}, {0.9, 8, "> "},
	} {
		factor, bound := c.factor(want.loss, 100)
		assert.InDelta(t, want.factor, factor, 1e-12, "%g", want.loss)
		assert.Equal(t, want.bound, bound, "%g", want.loss)
	}
	none, _ := curve(nil).factor(1, 1)
	assert.True(t, math.IsNaN(none))
}

// TestFactorsOfCards: the columns come from the log of the sweep that curve names, with the card's
// own baseline as one more point; a design that Muon trains is compared with its series.
func TestFactorsOfCards(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	base := write("base.yaml", "model: {preset: quickstart-transformer}\ntrain: {batch: 2, steps: 0, tokens: 1024, lr: 0.001}\n")
	file := write("curve.yaml", "base: "+base+"\nseries: [{name: adamw}, {name: muon, set: [\"train.optim={kind: muon}\"]}]\nexperiment: {kind: sweep, key: train.tokens, values: [1024, 4096]}\n")
	logOf(t, file, map[string][]float64{"adamw 1024": {3}, "adamw 4096": {1}, "muon 1024": {2}, "muon 4096": {1}})
	curves, err := Cards{Curve: file}.curves(models.Standard())
	require.NoError(t, err)
	assert.Equal(t, map[string]curve{"adamw": {{3, 1024}, {1, 4096}}, "muon": {{2, 1024}, {1, 4096}}}, curves)

	of := func(loss float64) Result {
		return Result{&cell{}, state{runs: []Record{{Tokens: 2048, Loss: eval.Number(loss)}}}}
	}
	measured := []bench.DesignResult{{Name: "quickstart", Time: 1.25}, {Name: "quickstart-keel", Time: 1.25}, {Name: "quickstart", Optim: "muon", Time: 2}}
	adamw := curves["adamw"].with(of(2.5))
	assert.Equal(t, curve{{3, 1024}, {2.5, 2048}, {1, 4096}}, adamw)
	for _, want := range []struct {
		card   card
		loss   float64
		curve  curve
		sc, sw string
	}{
		{card{preset: "quickstart"}, 2.5, adamw, "1.00", "0.80"},
		{card{preset: "quickstart"}, 0.5, adamw, "> 2.00", "> 1.60"},
		{card{preset: "quickstart", muon: true}, 2.5, curves["muon"], "< 0.50", "< 0.25"},
		{card{preset: "quickstart-keel", muon: true}, 2.5, curves["muon"], "< 0.50", "-"},
		{card{preset: "quickstart"}, 2.5, nil, "-", "-"},
		{card{preset: "quickstart-mhc"}, 2.5, adamw, "1.00", "-"},
	} {
		sc, sw := want.card.factors(of(want.loss), want.curve, measured)
		assert.Equal(t, []string{want.sc, want.sw}, []string{sc, sw})
	}
	sc, _ := card{}.factors(Result{}, adamw, measured)
	assert.Equal(t, "-", sc, "no run is complete")

	_, err = Cards{Curve: write("other.yaml", "base: "+base+"\nseries: [{name: adamw}]\nexperiment: {kind: variants}\n")}.curves(models.Standard())
	assert.ErrorContains(t, err, "want a sweep over train.tokens")
}

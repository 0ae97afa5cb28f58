package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// comparisons returns the comparisons of shapes and models, named with commas between them; ""
// means all.
func comparisons(t *testing.T, shapes, chosen string, size Size) []Comparison {
	t.Helper()
	split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
	all, err := Comparisons(models.Standard(), split(shapes), split(chosen), size)
	require.NoError(t, err)
	return all
}

// TestDesignsWorkloads: each preset that is compared with the plain transformer of a shape becomes
// a model of that shape; at the large shape it is the preset itself.
func TestDesignsWorkloads(t *testing.T) {
	groups := comparisons(t, "", "", Size{})
	require.Len(t, groups, 2)
	byteLevel, large := groups[0], groups[1]
	for _, g := range groups {
		designs := map[string]bool{}
		for _, w := range append([]Workload{g.Base}, g.Others...) {
			designs[w.Spec.Stream.Name()] = true
		}
		for _, name := range models.Standard().StreamNames() {
			assert.True(t, designs[name], "%s is not measured at %s", name, g.Shape)
		}
		for _, w := range append([]Workload{g.Base}, g.Others...) {
			assert.Equal(t, g.Base.tokens(), w.tokens(), w.Name)
			assert.Equal(t, []any{g.Base.Spec.Vocab, g.Base.ZLoss}, []any{w.Spec.Vocab, w.ZLoss})
			if w.Preset.Config.Attention.Positions != models.PositionsRoPE { // rotary positions are measured as they are
				assert.Equal(t, g.Base.Spec.Attention.Positions, w.Spec.Attention.Positions)
			}
		}
	}
	for _, w := range append(large.Others, large.Base) {
		p, err := w.Preset.Config.Resolve()
		require.NoError(t, err)
		assert.Equal(t, p.Cost(), w.Spec.Cost(), w.Name)
	}
	s := byteLevel.Base.Spec
	assert.Equal(t, []int{4, 256, 8, 1024, 257, 256, 16}, []int{s.Layers, s.Width(), s.HeadCount(), s.FeedForwardShape().Hidden, s.Vocab, s.Seq, byteLevel.Base.Batch})
}

// TestDesignsTravel: a child trains the model that the parent sent.
func TestDesignsTravel(t *testing.T) {
	for _, g := range comparisons(t, "", "", Size{}) {
		for _, w := range append([]Workload{g.Base}, g.Others...) {
			requireTravels(t, w)
			w.Optim = "muon"
			requireTravels(t, w)
		}
	}
}

// TestDesignsMeasuresANewDesign: a preset that names the plain transformer of a shape is compared
// with it, whatever its design.
func TestDesignsMeasuresANewDesign(t *testing.T) {
	c := models.Transformer(4, 256, 512, 8)
	c.Vocab = byteVocab
	zoo := models.Standard().WithPresets(models.Preset{Name: "narrow", Config: c, Baseline: "quickstart-transformer"})
	groups, err := Comparisons(zoo, nil, []string{"narrow"}, Size{})
	require.NoError(t, err)
	require.Len(t, groups, 1)
	assert.Equal(t, []string{"narrow"}, names(groups[0].Others))
}

// TestDesignsChoice: names choose, in the order of the table, and only shapes for which a chosen
// model exists.
func TestDesignsChoice(t *testing.T) {
	assert.Equal(t, []string{"vwn-8x64"}, names(comparisons(t, "", "vwn-8x64", Size{})[0].Others))
	assert.Len(t, comparisons(t, "", "vwn-8x64,quickstart-vwn", Size{}), 2)
	groups := comparisons(t, "byte", "quickstart-mhc,quickstart", Size{2, 8})
	require.Len(t, groups, 1)
	assert.Equal(t, []string{"quickstart", "quickstart-mhc"}, names(groups[0].Others))
	for _, w := range append(groups[0].Others, groups[0].Base) {
		assert.Equal(t, 2*8, w.tokens())
	}
}

// TestDesignsCountsWhatRuns: the FLOPs and bytes by which designs are compared equal those of the
// ops that a step runs: of the transformer and the RMT, among the long tests of every design.
func TestDesignsCountsWhatRuns(t *testing.T) {
	g := comparisons(t, "byte", "", Size{2, 8})[0]
	for _, w := range append([]Workload{g.Base}, g.Others...) {
		if w.Name != g.Base.Name && w.Name != "quickstart" && !longtest.Enabled() {
			continue
		}
		o, err := newResidua(w, Target{Threads: 1})
		require.NoError(t, err, w.Name)
		_, err = o.step()
		require.NoError(t, err, w.Name)
		flops, bytes := 0, 0
		for _, row := range o.learner.Program().Profile() {
			flops, bytes = flops+row.FLOPs, bytes+row.Bytes
		}
		assert.Equal(t, w.stepFLOPs(), float64(flops), w.Name)
		assert.Equal(t, bytes, o.facts().Traffic, w.Name)
		// Each weight is read forward and backward, and its gradient written.
		assert.Greater(t, bytes, 8*(w.Spec.Cost().Parameters-w.Spec.Cost().Embedding), w.Name)
		_, err = o.step()
		require.NoError(t, err, w.Name)
		assert.Equal(t, bytes, o.facts().Traffic, "%s: of one step", w.Name)
		o.close()
	}
}

// TestDesignsRatiosOfFakeMeasurements: a design is compared with the plain transformer over the
// turns in which both took part.
func TestDesignsRatiosOfFakeMeasurements(t *testing.T) {
	g := comparisons(t, "byte", "quickstart-highway", Size{})[0]
	plain, p := fake(100, 0, 9, 9, 2, 2), fake(150, big(3e9), 3, 5, 4)
	plain.facts.Traffic, p.facts.Traffic = 1000, 1250
	r := newDesignResult("byte", g.Others[0], g.Base, p, plain.facts, plain.seconds[2:])
	assert.Equal(t, "quickstart-highway", r.Name)
	assert.Equal(t, "byte", r.Shape)
	assert.Equal(t, 2.0, r.Time)
	assert.Equal(t, 1.25, r.Bytes)
	assert.InEpsilon(t, float64(g.Others[0].Spec.Cost().TrainFLOPs())/float64(g.Base.Spec.Cost().TrainFLOPs()), r.FLOPs, 1e-12)
	assert.Equal(t, 3000.0, r.PeakMB)
	assert.Equal(t, 1024.0, r.TokensPS)
	assert.Equal(t, 150, r.Parameters)
	assert.Regexp(t, `(?m)^quickstart-highway +byte +16 x 256 +0\.00M +2\.000x +\d\.\d{3}x +1\.250x +1024 +3000$`, (&Report{Machine: &Machine{}, Designs: []DesignResult{r}}).String())
}

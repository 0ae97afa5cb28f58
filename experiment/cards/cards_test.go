package cards

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/search"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
)

// TestEveryDesignIsListed: every stream of the zoo has a card, of a preset of the transformer's size;
// the transformer is the first.
func TestEveryDesignIsListed(t *testing.T) {
	zoo := models.Standard()
	cards, err := List(zoo, Baseline)
	require.NoError(t, err)
	require.Equal(t, Baseline, cards[0].Preset)
	seen, titles := map[string]bool{}, map[string]bool{}
	for _, c := range cards {
		p, err := zoo.Preset(c.Preset)
		require.NoError(t, err)
		spec, err := p.Config.Resolve()
		require.NoError(t, err)
		seen[spec.Stream.Name()] = true
		assert.Equal(t, []int{4, 256}, []int{spec.Layers, spec.Width()}, c.Preset)
		assert.Equal(t, strings.HasPrefix(c.Title, "Mixture"), spec.FeedForwardShape().Experts > 0, c.Preset)
		assert.False(t, titles[c.Title], "%s twice", c.Title)
		titles[c.Title] = true
	}
	for _, name := range zoo.StreamNames() {
		assert.True(t, seen[name], "stream %s has no card", name)
	}
}

// tinyZoo has a tiny preset of every card's.
func tinyZoo(t *testing.T) models.Zoo {
	t.Helper()
	zoo := models.Standard()
	cards, err := List(zoo, Baseline)
	require.NoError(t, err)
	var tiny []models.Preset
	seen := map[string]bool{}
	for i, c := range cards {
		if seen[c.Preset] {
			continue
		}
		seen[c.Preset] = true
		sizes := "stream: {d_model: 8}, attention: {heads: 2}"
		if zooPreset, err := zoo.Preset(c.Preset); err == nil && zooPreset.Config.Attention.Heads == 0 { // a stream's own
			sizes = "stream: {dk: 6, dv: 4, rank: 2}"
		}
		yaml := "model: {preset: " + c.Preset + ", layers: 2, seq: 8, " + sizes + "}\ntrain: {steps: 1, lr: 1}"
		run, _, err := config.Parse(zoo, "tiny", []byte(yaml), nil)
		require.NoError(t, err)
		p := models.Preset{Name: strings.Replace(c.Preset, "quickstart", "tiny", 1), Config: run.Model}
		if i > 0 {
			p.Baseline = "tiny-transformer"
		}
		tiny = append(tiny, p)
	}
	return zoo.WithPresets(tiny...)
}

// TestPage: the page has each card, with what was measured of its speed, and of those that were trained the rates, the seeds and
// the curve next to the transformer's; written again, nothing is trained and the page is the same.
func TestPage(t *testing.T) {
	o := Options{Zoo: tinyZoo(t), Baseline: "tiny-transformer", Tokens: 48, Set: experimenttest.Text(t), Out: filepath.Join(t.TempDir(), "out"), Command: "the call",
		Search: search.Options{Most: 1, Seeds: 2}, Only: []string{"tiny", "tiny-transformer"}}
	o.Speeds = []bench.DesignResult{{Name: "quickstart-hyper-static", Shape: "byte", Time: 1.25, FLOPs: 1.01, Bytes: 1.5, PeakMB: 77}, {Name: "vwn-8x64", Shape: "162m", Time: 0.8}}
	page, err := Measure(context.Background(), o, experiment.Log{})
	require.NoError(t, err)
	text, curves := page.Markdown(), page.Curves()
	cards, err := List(o.Zoo, "tiny-transformer")
	require.NoError(t, err)
	require.Equal(t, []string{"curves/tiny-transformer.svg", "curves/tiny.svg"}, []string{curves[0].File, curves[1].File})
	require.Len(t, curves, 2)
	assert.Contains(t, curves[1].Chart.Series[0].Name, "tiny-transformer at ")
	for _, c := range cards {
		assert.Contains(t, text, "\n## "+c.Title+"\n")
		assert.Contains(t, text, "](#"+anchor(c.Title)+")")
		assert.Contains(t, text, c.Equation)
		assert.Equal(t, strings.Contains(text, "](curves/"+c.Name+".svg)"), slices.Contains(o.Only, c.Name), c.Name)
	}
	assert.Equal(t, len(cards)-2, strings.Count(text, "Validation, bits per byte: not trained yet.\n"))
	assert.Contains(t, text, fmt.Sprintf("Not finished are %d of %d: ", len(cards)-2, len(cards)))
	assert.Equal(t, 2, strings.Count(text, "** and **"), "two seeds at each best rate")
	assert.Contains(t, text, "| quickstart-hyper-static | byte | 1.25x | 1.01x | 1.50x | 77 MB |")
	assert.Contains(t, text, "| vwn-8x64 | 162m | 0.80x | - | - | - |")
	assert.Equal(t, len(cards)-3, strings.Count(text, "| - | - | - | - | - |"), "two of those next to the transformer were measured")
	assert.Contains(t, text, "Written by `the call`")

	var notes []string
	o.Only, o.StopAfter = nil, 1
	again, err := Measure(context.Background(), o, experiment.Log{Note: func(line string) { notes = append(notes, line) }})
	require.NoError(t, err)
	assert.Empty(t, notes, "there is no time for another run")
	assert.Equal(t, text, again.Markdown())
}

// TestDifferencesSayHowSureTheyAre: within two standard errors, and while a search is not finished, a cell says so.
func TestDifferencesSayHowSureTheyAre(t *testing.T) {
	scored := func(done bool, scores ...float64) *measured {
		m := &measured{best: new(experiment.Result)}
		var err error
		m.found, err = search.BestRate(context.Background(), search.Options{}, func(_ context.Context, rate float64, seed uint64) (float64, bool, error) {
			switch {
			case rate != search.Rate(0):
				return 9, true, nil
			case seed > 0 && !done:
				return 0, false, nil
			}
			return scores[seed], true, nil
		})
		require.NoError(t, err)
		return m
	}
	base := scored(true, 3, 3.02, 3.01)
	assert.Equal(t, "-0.500 ± 0.008", scored(true, 2.50, 2.51, 2.52).comparedWith(base))
	assert.Equal(t, "-0.010 ± 0.008, within two standard errors", scored(true, 2.99, 3, 3.01).comparedWith(base))
	assert.Equal(t, "-0.510, not finished", scored(false, 2.5).comparedWith(base))
	assert.Equal(t, "-", base.comparedWith(base))
	assert.Equal(t, "-", (&measured{}).comparedWith(base))
	assert.Equal(t, "9.000 at 0.00056, **3.000** and **3.020** and **3.010** at 0.001, 9.000 at 0.0018", base.scores())
}

func TestMeasureRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"want tokens >= 1, got -1":          {Tokens: -1},
		`the baseline: preset: want one of`: {Baseline: "quickstart-transfomer"},
		"train.batch: want":                 {Set: []string{"train.batch=0"}},
	} {
		o.Zoo = models.Standard()
		_, err := Measure(context.Background(), o, experiment.Log{})
		var setup *experiment.SetupError
		require.ErrorAs(t, err, &setup, want)
		assert.ErrorContains(t, err, want)
	}
}

// TestDocsShowTheCards: each card of the zoo is in docs/models.md as its design says it, and no other;
// docs/zoo.json measures presets.
func TestDocsShowTheCards(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "models.md"))
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	zoo := models.Standard()
	cards, err := List(zoo, Baseline)
	require.NoError(t, err)
	for _, c := range cards {
		section, ok := sections[c.Title]
		if !assert.True(t, ok, "docs/models.md lacks the card %q of preset %s: compare -cards docs/models.md writes it", c.Title, c.Preset) {
			continue
		}
		assert.Contains(t, section, fmt.Sprintf("```\n%s\n```\n\n%s.\n\n%s\n\nPreset `%s`: ", c.Equation, c.Source, c.Use, c.Preset))
		assert.Contains(t, section, "\nValidation, bits per byte: ")
		if !strings.Contains(section, "bits per byte: not trained yet.") {
			assert.Contains(t, section, "]("+c.curve()+")")
			assert.FileExists(t, filepath.Join(docs, filepath.FromSlash(c.curve())))
		}
		assert.Contains(t, string(page), "| ["+c.Title+"](#"+anchor(c.Title)+") |")
	}
	assert.Equal(t, len(cards), len(sections), "no sections but the cards")
	measured, err := bench.ReadReport(filepath.Join(docs, "zoo.json"))
	require.NoError(t, err)
	require.NotEmpty(t, measured.Designs)
	for _, r := range measured.Designs {
		_, err := zoo.Preset(r.Name)
		assert.NoError(t, err)
	}
}

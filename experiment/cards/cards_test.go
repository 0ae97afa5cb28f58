package cards

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/compare"
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
	for i, c := range cards {
		sizes := "stream: {d_model: 8}, attention: {heads: 2}"
		if c.Preset == "quickstart" {
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

// TestPage: the page has each card, with its curve next to the transformer's and what was measured of
// its speed; written again, nothing is trained and the page is the same.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	o := Options{Zoo: tinyZoo(t), Baseline: "tiny-transformer", Tokens: 48, Rates: []float64{1e-3, 1e-2}, Set: experimenttest.Text(t), Out: filepath.Join(dir, "out"), Command: "the call"}
	if testing.Short() {
		o.Rates = o.Rates[1:]
	}
	o.Speeds = []bench.DesignResult{{Name: "quickstart-hyper-static", Shape: "byte", Time: 1.25, FLOPs: 1.01, Bytes: 1.5, PeakMB: 77}, {Name: "vwn-8x64", Shape: "162m", Time: 0.8}}
	page, err := Measure(context.Background(), o, compare.Log{})
	require.NoError(t, err)
	text, curves := page.Markdown(), page.Curves()
	cards, err := List(o.Zoo, "tiny-transformer")
	require.NoError(t, err)
	require.Len(t, curves, len(cards))
	for i, c := range cards {
		assert.Contains(t, text, "\n## "+c.Title+"\n")
		assert.Contains(t, text, "](#"+anchor(c.Title)+")")
		assert.Contains(t, text, c.Equation)
		assert.Contains(t, text, "](curves/"+c.Preset+".svg)")
		assert.Equal(t, "curves/"+c.Preset+".svg", curves[i].File)
		assert.Equal(t, c.Title, curves[i].Chart.Title)
		assert.Contains(t, curves[i].Chart.Series[0].Name, "tiny-transformer at ")
	}
	assert.Contains(t, text, "| quickstart-hyper-static | byte | 1.25x | 1.01x | 1.50x | 77 MB |")
	assert.Contains(t, text, "| vwn-8x64 | 162m | 0.80x | - | - | - |")
	assert.Equal(t, len(cards)-3, strings.Count(text, "| - | - | - | - | - |"), "two of those next to the transformer were measured")
	assert.Contains(t, text, "Written by `the call`")

	var notes []string
	again, err := Measure(context.Background(), o, compare.Log{Note: func(line string) { notes = append(notes, line) }})
	require.NoError(t, err)
	assert.NotContains(t, strings.Join(notes, "\n"), "steps at")
	assert.Equal(t, text, again.Markdown())
}

func TestMeasureRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"want tokens >= 1, got -1":          {Tokens: -1},
		`the baseline: preset: want one of`: {Baseline: "quickstart-transfomer"},
		"train.batch: want":                 {Set: []string{"train.batch=0"}},
	} {
		o.Zoo = models.Standard()
		_, err := Measure(context.Background(), o, compare.Log{})
		var setup *experiment.SetupError
		require.ErrorAs(t, err, &setup, want)
		assert.ErrorContains(t, err, want)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(n))
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
		assert.Contains(t, section, "]("+c.curve()+")")
		assert.FileExists(t, filepath.Join(docs, filepath.FromSlash(c.curve())))
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

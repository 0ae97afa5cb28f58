package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

const baseline = "quickstart-transformer"

// testCards is the kind as studies/cards.yaml has it.
var testCards = Cards{Baseline: baseline, Muon: []string{baseline, "quickstart-modern", "quickstart", "quickstart-rmt-modern", "quickstart-mhc", "quickstart-hyper-dynamic", "quickstart-deep-delta"}}

// TestEveryDesignHasACard: every stream of the zoo has one, of a preset of the transformer's size;
// the transformer is the first.
func TestEveryDesignHasACard(t *testing.T) {
	zoo := models.Standard()
	cards, err := testCards.cards(zoo)
	require.NoError(t, err)
	require.Equal(t, baseline, cards[0].preset)
	seen, titles := map[string]bool{}, map[string]bool{}
	for _, c := range cards {
		p, err := zoo.Preset(c.preset)
		require.NoError(t, err)
		spec, err := p.Config.Resolve()
		require.NoError(t, err)
		seen[spec.Stream.Name()] = true
		assert.Equal(t, []int{4, 256}, []int{spec.Layers, spec.Width()}, c.preset)
		assert.Equal(t, strings.HasPrefix(c.Title, "Mixture"), spec.FeedForwardShape().Experts > 0, c.preset)
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
	cards, err := testCards.cards(zoo)
	require.NoError(t, err)
	var tiny []models.Preset
	seen := map[string]bool{}
	for i, c := range cards {
		if seen[c.preset] {
			continue
		}
		seen[c.preset] = true
		preset, err := zoo.Preset(c.preset)
		require.NoError(t, err)
		sizes := "stream: {d_model: 8}, attention: {heads: 2}"
		if _, err := preset.Config.Size("stream.d_model"); err != nil {
			sizes = "stream: {dk: 6, dv: 4, rank: 2}"
		}
		if preset.Config.Attention.ValueEmbeddings > 0 { // whose gates read 12 entries, the smear's 24
			sizes = "stream: {d_model: 24}, attention: {heads: 2}"
		}
		if preset.Config.Loops > 1 {
			sizes += ", loop_begin: 0, loop_end: 1"
		}
		run, _, err := runconfig.Parse(zoo, "tiny", []byte("model: {preset: "+c.preset+", layers: 2, seq: 8, "+sizes+"}\ntrain: {steps: 1, lr: 1}"), nil)
		require.NoError(t, err)
		p := models.Preset{Name: strings.Replace(c.preset, "quickstart", "tiny", 1), Config: run.Model, Modern: preset.Modern, Card: preset.Card}
		if i > 0 {
			p.Baseline = "tiny-transformer"
		}
		tiny = append(tiny, p)
	}
	return zoo.WithPresets(tiny...)
}

// TestCardsPage: the page has each card, with what was measured of its speed, and of those that
// were trained the rates, the seeds and the curve next to the transformer's.
func TestCardsPage(t *testing.T) {
	dir := t.TempDir()
	speeds, base := filepath.Join(dir, "zoo.json"), filepath.Join(dir, "tiny.yaml")
	require.NoError(t, os.WriteFile(speeds, []byte(`{"machine": {}, "zoo": [{"name": "tiny-hyper-static", "shape": "byte", "relative_time": 1.25, "relative_flops": 1.01, "relative_bytes": 1.5, "peak_mb": 77}]}`), 0o644))
	require.NoError(t, os.WriteFile(base, []byte("model: {preset: tiny-transformer}\ntrain: {batch: 2, steps: 3, lr: 0.56, eval_tokens: 64}\n"), 0o644))
	c := parsed(t, "name: Cards\nseeds: 2\nrates: bracket\nexperiment: {kind: cards, baseline: tiny-transformer, speeds: ["+speeds+", "+speeds+".missing]}")
	c.Base = base
	zoo := tinyZoo(t)
	p, err := c.Plan(t.Context(), zoo, filepath.Join(dir, "out"))
	require.NoError(t, err)
	only := []string{"tiny", "tiny-transformer"}
	trained(t, p, Options{Jobs: 2, Only: only})
	r := report(t, p)
	text := r.Markdown("cards/log.jsonl", "cards.svg", "the call")
	assert.True(t, strings.HasPrefix(text, "# Cards\n\nMade of cards/log.jsonl by `the call`; do not edit.\n\n**Sc and Sw: how many times"))
	cards, err := c.Kind.(Cards).cards(zoo)
	require.NoError(t, err)
	for i, c := range cards {
		title, isTrained := c.Title, slices.Contains(only, c.series.Name)
		assert.Equal(t, !c.muon, strings.Contains(text, "\n## "+title+"\n"), title)
		for line := range strings.Lines(c.Equation + "\n") {
			assert.True(t, strings.Contains(text, "\n"+line), title)
		}
		assert.Equal(t, title, r.Tables[0].Rows[i][0])
		assert.Equal(t, !isTrained, r.Tables[0].Rows[i][4] == "not trained yet", title)
	}
	assert.Equal(t, 1, strings.Count(text, cards[0].Equation), "shown once, and linked")
	assert.Contains(t, text, "\nAs in [Transformer](#transformer), and\n\n```\nF: ")
	assert.Contains(t, text, "\nAs in [Residual Matrix Transformer](#residual-matrix-transformer) and [Transformer, modern block](#transformer-modern-block).\n")
	assert.Equal(t, 2, strings.Count(text, "| yes |"))
	assert.True(t, strings.Contains(text, "| tiny-hyper-static | byte | 1.25x | 1.01x | 1.50x | 77 MB |"))
	assert.Equal(t, 1, strings.Count(text, " | byte | "))
	var lines []string
	for _, chart := range r.Picture.(figure.Panels).Charts {
		for _, s := range chart.Series {
			lines = append(lines, strings.Fields(s.Name)[0])
			assert.NotEmpty(t, s.Y)
		}
	}
	assert.Equal(t, []string{"tiny-transformer", "tiny-transformer", "tiny"}, lines)
}

// TestCardsOfOtherSizes: sizes changes the presets that it names, and all others by one list; with
// muon a preset has a second series. A name that has no card is an error that names it.
func TestCardsOfOtherSizes(t *testing.T) {
	cards := testCards
	cards.Sizes = map[string][]string{"quickstart": {"model.stream.dv=16"}, others: {"model.stream.d_model=128"}}
	_, all, err := cards.Gather(models.Standard())
	require.NoError(t, err)
	sets := map[string][]string{}
	for _, s := range all {
		sets[s.Name] = s.Set
	}
	assert.Equal(t, []string{"model.preset=quickstart", "model.stream.dv=16"}, sets["quickstart"])
	assert.Equal(t, []string{"model.preset=quickstart-mhc", "model.stream.d_model=128"}, sets["quickstart-mhc"])
	assert.Equal(t, []string{"model.preset=quickstart", "train.optim={kind: muon, scale: match_rms_adamw}", "model.stream.dv=16"}, sets["quickstart-muon"])
	cards.Sizes["mhc"] = nil
	_, _, err = cards.Gather(models.Standard())
	assert.ErrorContains(t, err, `sizes: want presets that have a card, or others, got "mhc"`)
	_, _, err = Cards{Baseline: baseline, Muon: []string{"mhc"}}.Gather(models.Standard())
	assert.ErrorContains(t, err, `muon: want presets that have a card, got "mhc"`)
}

// TestDifferencesSayHowSureTheyAre: within two standard errors, and while a search is not finished,
// a cell says so.
func TestDifferencesSayHowSureTheyAre(t *testing.T) {
	scored := func(done bool, scores ...float64) Result {
		var r Result
		for i, s := range scores {
			r.runs = append(r.runs, Record{Run: fmt.Sprint(i), Rate: 1e-3, Loss: eval.Number(s), Bits: eval.Number(s)})
		}
		if !done {
			r.todo = []*Planned{nil}
		}
		r.cell = &cell{}
		return r
	}
	base := scored(true, 3, 3.02, 3.01)
	assert.Equal(t, "-0.500 ± 0.008", scored(true, 2.50, 2.51, 2.52).comparedWith(base))
	assert.Equal(t, "-0.010 ± 0.008, within two standard errors", scored(true, 2.99, 3, 3.01).comparedWith(base))
	assert.Equal(t, "-0.510, not finished", scored(false, 2.5).comparedWith(base))
	assert.Equal(t, "-", base.comparedWith(base))
	assert.Equal(t, "-", scored(false).comparedWith(base))
}

// streamOf is the stream of a card's preset.
func streamOf(t *testing.T, c card) string {
	p, err := models.Standard().Preset(c.preset)
	require.NoError(t, err)
	return p.Config.Stream.Name()
}

// TestDocsShowTheCards: cards in docs/models.md say what the designs say, and a stream that the
// page shows has all its cards; what Muon trains has rows in the tables, and no section of its own.
// A stream newer than the page may be missing until it is trained.
// zoo.json and zoo-muon.json of experiment/bench/results measure presets.
func TestDocsShowTheCards(t *testing.T) {
	docs := filepath.Join("..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "models.md"))
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	zoo := models.Standard()
	cards, err := testCards.cards(zoo)
	require.NoError(t, err)
	streams := map[string]bool{}
	for _, c := range cards {
		if _, ok := sections[c.Title]; ok {
			streams[streamOf(t, c)] = true
		}
	}
	assert.GreaterOrEqual(t, len(streams), 21, "streams that docs/models.md had")
	cards = slices.DeleteFunc(cards, func(c card) bool { return !streams[streamOf(t, c)] })
	var shown equations
	for _, c := range cards {
		assert.Contains(t, string(page), "\n| "+c.Title+" |")
		if c.muon {
			continue
		}
		section, ok := sections[c.Title]
		if !assert.True(t, ok, "docs/models.md lacks the card %q of preset %s: residua experiment studies/cards.yaml writes it", c.Title, c.preset) {
			continue
		}
		assert.Contains(t, section, fmt.Sprintf("%s\n%s.\n\n%s\n\nPreset `%s`: ", shown.show(c.Card), c.Source, c.Use, c.preset))
	}
	designs := slices.DeleteFunc(slices.Clone(cards), func(c card) bool { return c.muon })
	assert.Equal(t, len(designs), len(sections), "no sections but the cards")
	for _, picture := range regexp.MustCompile(`\]\(([^)]*\.svg)\)`).FindAllStringSubmatch(string(page), -1) {
		assert.FileExists(t, filepath.Join(docs, filepath.FromSlash(picture[1])))
	}
	for _, file := range []string{"zoo.json", "zoo-muon.json"} {
		measured, err := bench.ReadReport(filepath.Join("bench", "results", file))
		require.NoError(t, err)
		require.NotEmpty(t, measured.Designs)
		for _, r := range measured.Designs {
			_, err := zoo.Preset(r.Name)
			assert.NoError(t, err)
		}
	}
}

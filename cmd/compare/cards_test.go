package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

// TestDeckShowsEveryDesign: every stream of the zoo has a card, of a preset of the plain
// transformer's size, which is the first.
func TestDeckShowsEveryDesign(t *testing.T) {
	zoo := models.Standard()
	cards, err := deck(zoo, plainPreset)
	require.NoError(t, err)
	require.Equal(t, plainPreset, cards[0].preset)
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
	cards, err := deck(zoo, plainPreset)
	require.NoError(t, err)
	var tiny []models.Preset
	for i, c := range cards {
		sizes := "stream: {d_model: 8}, attention: {heads: 2}"
		if c.preset == "quickstart" {
			sizes = "stream: {dk: 6, dv: 4, rank: 2}"
		}
		yaml := "model: {preset: " + c.preset + ", layers: 2, seq: 8, " + sizes + "}\ntrain: {steps: 1, lr: 1}"
		run, _, err := config.Parse(zoo, "tiny", []byte(yaml), nil)
		require.NoError(t, err)
		p := models.Preset{Name: strings.Replace(c.preset, "quickstart", "tiny", 1), Config: run.Model}
		if i > 0 {
			p.Plain = "tiny-transformer"
		}
		tiny = append(tiny, p)
	}
	return zoo.WithPresets(tiny...)
}

const zooText = `[{"name":"quickstart-hyper-static","shape":"byte","relative_time":1.25,"relative_flops":1.01,"relative_bytes":1.5,"peak_mb":77},
 {"name":"vwn-8x64","shape":"162m","relative_time":0.8}]`

func TestCards(t *testing.T) {
	dir := t.TempDir()
	zoo, speeds := tinyZoo(t), filepath.Join(dir, "zoo.json")
	require.NoError(t, os.WriteFile(speeds, []byte(zooText), 0o644))
	page := filepath.Join(dir, "docs", "models.md")
	rates := "0.001,0.01"
	if testing.Short() {
		rates = "0.01"
	}
	args := append(text(t), "-cards", page, "-plain", "tiny-transformer", "-zoo", speeds, "-tokens", "48", "-lr", rates, "-out", filepath.Join(dir, "out"))
	got := clitest.Call(command(zoo), args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	content := string(written)
	cards, err := deck(zoo, "tiny-transformer")
	require.NoError(t, err)
	for _, c := range cards {
		assert.Contains(t, content, "\n## "+c.Title+"\n")
		assert.Contains(t, content, "](#"+anchor(c.Title)+")")
		assert.Contains(t, content, c.Equation)
		assert.Contains(t, content, "](curves/"+c.preset+".svg)")
		curve, err := os.ReadFile(filepath.Join(dir, "docs", "curves", c.preset+".svg"))
		require.NoError(t, err)
		assert.Contains(t, string(curve), "tiny-transformer at ")
	}
	assert.Contains(t, content, "| quickstart-hyper-static | byte | 1.25x | 1.01x | 1.50x | 77 MB |")
	assert.Contains(t, content, "| vwn-8x64 | 162m | 0.80x | - | - | - |")
	assert.Equal(t, len(cards)-3, strings.Count(content, "| - | - | - | - | - |"), "two of those next to the transformer were measured")
	assert.Contains(t, content, "-tokens 48 -lr "+rates+" -plain tiny-transformer -set data.source=files")

	again := clitest.Call(command(zoo), args...)
	require.Equal(t, cli.ExitOK, again.Code, again.Stderr)
	assert.NotContains(t, again.Stderr, "steps at")
	rewritten, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, content, string(rewritten))
}

func TestReadZoo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.json")
	for _, text := range []string{zooText, fmt.Sprintf(`{"machine":{},"zoo":%s}`, zooText)} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		rows, err := readZoo(file)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Equal(t, 77.0, *rows[0].PeakMB)
		assert.Nil(t, rows[1].PeakMB)
	}
	rows, err := readZoo(filepath.Join(dir, "none.json"))
	assert.NoError(t, err)
	assert.Empty(t, rows)
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(n))
	}
}

// TestDocsShowTheDeck: each card of docs/models.md is as its design says it, and docs/zoo.json
// measures presets.
func TestDocsShowTheDeck(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "models.md"))
	require.NoError(t, err)
	zoo := models.Standard()
	cards, err := deck(zoo, plainPreset)
	require.NoError(t, err)
	byTitle := map[string]card{}
	for _, c := range cards {
		byTitle[c.Title] = c
	}
	sections := strings.Split(string(page), "\n## ")[1:]
	assert.Greater(t, len(sections), 10)
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		c, ok := byTitle[title]
		require.True(t, ok, "no preset's card is %q", title)
		assert.Contains(t, section, fmt.Sprintf("\n\n```\n%s\n```\n\n%s.\n\n%s\n\nPreset `%s`: ", c.Equation, c.Source, c.Use, c.preset))
		assert.Contains(t, section, "]("+curveOf(c)+")")
		assert.FileExists(t, filepath.Join(docs, filepath.FromSlash(curveOf(c))))
	}
	rows, err := readZoo(filepath.Join(docs, "zoo.json"))
	require.NoError(t, err)
	for _, r := range rows {
		_, err := zoo.Preset(r.Name)
		assert.NoError(t, err)
	}
}

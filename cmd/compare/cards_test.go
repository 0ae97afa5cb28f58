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

// TestDeckIsOfTheConfigs: every card's config is there, of the card's stream and of
// quickstart's size, and every stream has a card.
func TestDeckIsOfTheConfigs(t *testing.T) {
	seen, names := map[string]bool{}, map[string]bool{}
	for _, c := range deck() {
		run, _, err := config.Load(filepath.Join("..", "..", "configs", c.config), nil)
		require.NoError(t, err)
		seen[run.Model.Stream] = true
		assert.Equal(t, 4, run.Model.Layers, c.name)
		assert.Equal(t, 256, run.Model.Width(), c.name)
		assert.Equal(t, c.name == "moe", run.Model.Experts > 0, c.name)
		assert.Equal(t, c.name == "hyper-dynamic", run.Model.Dynamic, c.name)
		assert.False(t, names[c.name], "%s twice", c.name)
		names[c.name] = true
		for _, text := range []string{c.title, c.equation, c.source, c.use} {
			assert.NotEmpty(t, text, c.name)
		}
	}
	for _, s := range []string{models.StreamMatrix, models.StreamVector, models.StreamHyper, models.StreamMHC, models.StreamMHCLite,
		models.StreamVWN, models.StreamHighway, models.StreamHierAgg, models.StreamDWLSTM} {
		assert.True(t, seen[s], "stream %s has no card", s)
	}
}

// tinyDeck writes a tiny config of every card.
func tinyDeck(t *testing.T) string {
	dir := t.TempDir()
	size := "layers: 2, d_model: 8, heads: 2, ff: 16, seq: 8, positions: alibi"
	for name, model := range map[string]string{
		"quickstart-transformer": tinyVector, "quickstart": tinyMatrix,
		"hyper-static": "stream: hyper, n: 2, " + size, "hyper-dynamic": "stream: hyper, n: 2, dynamic: true, " + size,
		"mhc": "stream: mhc, n: 2, " + size, "mhc-lite": "stream: mhc-lite, n: 2, " + size, "vwn": "stream: vwn, m: 2, n: 3, " + size,
		"highway": "stream: highway, " + size, "hieragg": "stream: hieragg, " + size,
		"dwlstm": "stream: dwlstm, " + strings.Replace(size, "ff: 16, ", "", 1), "moe": "stream: vector, experts: 4, " + size,
	} {
		tiny(t, dir, name, model)
	}
	return dir
}

const zooText = `[{"name":"hyper-static","shape":"byte","relative_time":1.25,"relative_flops":1.01,"relative_bytes":1.5,"peak_mb":77},
 {"name":"vwn-8x64","shape":"162m","relative_time":0.8}]`

func TestCards(t *testing.T) {
	dir := t.TempDir()
	zoo := filepath.Join(dir, "zoo.json")
	require.NoError(t, os.WriteFile(zoo, []byte(zooText), 0o644))
	page := filepath.Join(dir, "docs", "models.md")
	rates := "0.001,0.01"
	if testing.Short() {
		rates = "0.01"
	}
	args := append(text(t), "-cards", page, "-configs", tinyDeck(t), "-zoo", zoo, "-tokens", "48", "-lr", rates, "-out", filepath.Join(dir, "out"))
	got := clitest.Call(command(), args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	content := string(written)
	for _, c := range deck() {
		assert.Contains(t, content, "\n## "+c.title+"\n")
		assert.Contains(t, content, "](#"+anchor(c.title)+")")
		assert.Contains(t, content, c.equation)
		assert.Contains(t, content, "](curves/"+c.name+".svg)")
		curve, err := os.ReadFile(filepath.Join(dir, "docs", "curves", c.name+".svg"))
		require.NoError(t, err)
		assert.Contains(t, string(curve), "quickstart-transformer at ")
	}
	assert.Contains(t, content, "| hyper-static | byte | 1.25x | 1.01x | 1.50x | 77 MB |")
	assert.Contains(t, content, "| vwn-2x3 | - | - | - | - | - |\n| vwn-8x64 | 162m | 0.80x | - | - | - |")
	assert.Equal(t, len(deck())-2, strings.Count(content, "| - | - | - | - | - |"), "one of those beside the transformer was measured, and one of two vwn")
	assert.Contains(t, content, "-tokens 48 -lr "+rates+" -set data.source=files")

	again := clitest.Call(command(), args...)
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

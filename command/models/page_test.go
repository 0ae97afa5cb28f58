package models

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPresetsPage: the table of docs/presets.md has a row for each preset, with what this command computes.
func TestPresetsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/presets.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "|---|---|---|---:|---:|---:|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, p := range models.Standard().Presets() {
		line, err := newPreset(p, modeltest.Resolve(t, p.Config))
		require.NoError(t, err)
		digits := 1
		if line.TrainFLOPs >= 100e6 {
			digits = 0
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %.2fM | %.*fM | %d |", line.Name, line.Stream, line.Size,
			float64(line.Exact)/1e6, digits, float64(line.TrainFLOPs)/1e6, line.StreamSize))
	}
	assert.Equal(t, strings.Join(rows, "\n"), table, "docs/presets.md")
}

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

// TestPresetsPage: rows of the table of docs/presets.md are what this command computes. A preset
// that has come since the page was last made need not be there; those that were, 80, are.
func TestPresetsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/presets.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "|---|---|---|---:|---:|---:|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	listed, rows := strings.Split(table, "\n"), map[string]bool{}
	for _, p := range models.Standard().Presets() {
		line, err := newPreset(p, modeltest.Resolve(t, p.Config))
		require.NoError(t, err)
		digits := 1
		if line.TrainFLOPs >= 100e6 {
			digits = 0
		}
		rows[fmt.Sprintf("| `%s` | %s | %s | %.2fM | %.*fM | %d |", line.Name, line.Stream, line.Size,
			float64(line.Exact)/1e6, digits, float64(line.TrainFLOPs)/1e6, line.StreamSize)] = true
	}
	assert.GreaterOrEqual(t, len(listed), 80)
	for _, row := range listed {
		assert.True(t, rows[row], "docs/presets.md: no preset has this row: %s", row)
		delete(rows, row) // so that it is there once
	}
}

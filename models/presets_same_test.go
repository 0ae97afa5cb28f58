package models_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestAPresetsNameMeansTheSameModelForEver: the config.yaml of a run names its preset and
// leaves the preset's values out. A model that is to be another gets another name.
func TestAPresetsNameMeansTheSameModelForEver(t *testing.T) {
	text, err := os.ReadFile("testdata/presets.jsonl")
	require.NoError(t, err)
	known := strings.Split(strings.TrimSpace(string(text)), "\n")
	var lines []string
	for _, p := range models.Standard().Presets() {
		line, err := json.Marshal(struct {
			Name   string        `json:"name"`
			Config models.Config `json:"config"`
		}{p.Name, modeltest.Resolve(t, p.Config).Config})
		require.NoError(t, err)
		lines = append(lines, string(line))
		assert.Contains(t, known, string(line), "a preset has changed: give it another name; a new one is added to testdata/presets.jsonl")
	}
	for _, line := range known {
		assert.Contains(t, lines, line, "a preset is gone, or has changed")
	}
}

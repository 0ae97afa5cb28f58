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

// savedPreset is one line of a file of presets.
type savedPreset struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
}

func savedPresets(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	configs := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var p savedPreset
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		require.NotContains(t, configs, p.Name)
		configs[p.Name] = string(p.Config)
	}
	return configs
}

// TestAPresetsNameMeansTheSameModelForEver: the config.yaml of a run names its preset and leaves
// the preset's values out, so a preset must never change. A new model gets a new name.
func TestAPresetsNameMeansTheSameModelForEver(t *testing.T) {
	known, gone := presetRows(t), presetRows(t)
	for _, p := range models.Standard().Presets() {
		text, err := json.Marshal(modeltest.Resolve(t, p.Config))
		require.NoError(t, err)
		design := p.Config.Stream.Name()
		row, ok := known[p.Name]
		if assert.True(t, ok, "add %s to presets in testdata/designs/%s.yaml, with what it changes of another and its parameters: %s", p.Name, design, text) {
			var config map[string]any
			require.NoError(t, json.Unmarshal(text, &config))
			assert.Equal(t, row.saved(t, design, known), config, "%s has changed: give it another name", p.Name)
		}
		delete(gone, p.Name)
	}
	assert.Empty(t, gone, "presets that are gone")
}

// TestPresetsOfVersion1: files of format version 1 are read as the presets that they name; settings
// that did not exist then have their defaults.
func TestPresetsOfVersion1(t *testing.T) {
	zoo, saved := models.Standard(), savedPresets(t, "testdata/presets-version1.jsonl")
	assert.Len(t, saved, 37)
	for name, config := range saved {
		p, err := zoo.Preset(name)
		require.NoError(t, err)
		read, err := zoo.UnmarshalVersion(1, []byte(config))
		require.NoError(t, err, name)
		assert.Equal(t, modeltest.Resolve(t, p.Config).Config, read.WithDefaults(), name)
	}
}

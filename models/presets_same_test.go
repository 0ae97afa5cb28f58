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

// savedPreset is a line of a file of presets.
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

// TestAPresetsNameMeansTheSameModelForEver: the config.yaml of a run names its preset and
// leaves the preset's values out. A model that is to be another gets another name.
func TestAPresetsNameMeansTheSameModelForEver(t *testing.T) {
	known := savedPresets(t, "testdata/presets.jsonl")
	for _, p := range models.Standard().Presets() {
		config, err := json.Marshal(modeltest.Resolve(t, p.Config))
		require.NoError(t, err)
		line, err := json.Marshal(savedPreset{p.Name, config})
		require.NoError(t, err)
		if assert.Contains(t, known, p.Name, "add a new preset to testdata/presets.jsonl: %s", line) {
			assert.Equal(t, known[p.Name], string(config), "%s has changed: give it another name", p.Name)
		}
		delete(known, p.Name)
	}
	assert.Empty(t, known, "presets that are gone")
}

// TestPresetsOfVersion1: what files of format version 1 say of the presets that there were is
// read as those presets; settings that there were not then have their defaults.
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

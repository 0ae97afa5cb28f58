package models_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// presetRows returns the rows of presets in the designs' files, by name.
func presetRows(t *testing.T) map[string]presetRow {
	all := map[string]presetRow{}
	for design, rows := range designrows.Read[map[string]presetRow](t, "presets") {
		for name, row := range rows {
			require.NotContains(t, all, name, "presets of %s", design)
			all[name] = row
		}
	}
	return all
}

// presetOf returns a preset of the zoo, resolved.
func presetOf(t *testing.T, name string) models.Spec {
	p, err := models.Standard().Preset(name)
	require.NoError(t, err)
	return modeltest.Resolve(t, p.Config)
}

// checkCounts compares a preset's numbers with those derived by hand, and these with the numbers
// that papers print.
func (r presetRow) checkCounts(t *testing.T, name string, rows map[string]presetRow) {
	c, values := presetOf(t, name).Cost(), map[string]int{}
	if on := rows[r.On]; r.On != "" {
		base := presetOf(t, r.On)
		values = sizesIn(base)
		values["base"], values["base_flops"] = int(on.parameters(t, rows)), base.Cost().ForwardFLOPs
	}
	assert.Equal(t, r.Parameters.at(t, values), float64(c.Parameters), "%s: parameters", name)
	if r.FLOPs != "" {
		of := maps.Clone(values)
		of["base"] = values["base_flops"]
		assert.Equal(t, r.FLOPs.at(t, of), float64(c.ForwardFLOPs), "%s: FLOPs", name)
	}
	values["parameters"], values["flops"] = c.Parameters, c.ForwardFLOPs
	for _, p := range r.Printed {
		assert.InDelta(t, p.Want, p.Of.at(t, values), p.Within, "%s: %s, %s", name, p.Of, p.Note)
	}
}

// parameters returns the number of parameters derived by hand.
func (r presetRow) parameters(t *testing.T, rows map[string]presetRow) float64 {
	values := map[string]int{}
	if r.On != "" {
		values = sizesIn(presetOf(t, r.On))
		values["base"] = int(rows[r.On].parameters(t, rows))
	}
	return r.Parameters.at(t, values)
}

// saved returns the config that a preset stands for, as JSON.
func (r presetRow) saved(t *testing.T, design string, rows map[string]presetRow) map[string]any {
	config := map[string]any{"attention": map[string]any{}}
	if r.On != "" {
		config = rows[r.On].saved(t, "", rows)
	}
	text, err := json.Marshal(r.Model)
	require.NoError(t, err)
	var changes map[string]any
	require.NoError(t, json.Unmarshal(text, &changes))
	if attention, ok := changes["attention"].(map[string]any); ok {
		attention, was := maps.Clone(attention), config["attention"].(map[string]any)
		for key, value := range was {
			if _, changed := attention[key]; !changed {
				attention[key] = value
			}
		}
		maps.DeleteFunc(attention, func(_ string, value any) bool { return value == nil })
		changes["attention"] = attention
	}
	maps.Copy(config, changes)
	maps.DeleteFunc(config, func(_ string, value any) bool { return value == nil })
	config["stream"].(map[string]any)["kind"] = design
	return config
}

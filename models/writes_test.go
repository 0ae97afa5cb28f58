package models_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// writesRow is a model in the file of a kind of the section writes; Stream names its stream.
type writesRow struct {
	Stream string
	Model  designrows.Model
	Long   bool
}

// plainStream is the stream of rows that name none.
const plainStream = "vector"

// TestConformanceWrites runs the suite on every kind of writes.
func TestConformanceWrites(t *testing.T) {
	t.Parallel()
	for _, rows := range designrows.ReadWrites[map[string]writesRow](t, "conformance") {
		for name, r := range rows {
			if !r.Long || longtest.Enabled() {
				modeltest.RunIdle(t, name, tinyOn(t, r.Stream, r.Model), idle)
			}
		}
	}
}

// withWrites is a tiny model of a plain stream with what happens to what sublayers write.
func withWrites(t *testing.T, kind string, settings ...designrows.Model) models.Config {
	all := map[string]any{"kind": kind}
	for _, s := range settings {
		for key, value := range s {
			all[key] = value
		}
	}
	return tinyOn(t, plainStream, designrows.Model{"writes": all})
}

// writesEffects returns the effects of the settings of all kinds of writes.
func writesEffects(t *testing.T) (effects []effect) {
	for kind, rows := range designrows.ReadWrites[[]effectRow](t, "effects") {
		effects = append(effects, effect{key: "writes", base: tinyVector(plainly), change: func(c *subject) { c.Config = withWrites(t, kind) }, changes: []string{seenParameters, seenLogits}})
		for _, r := range rows {
			changed := withWrites(t, kind, r.Of, designrows.Model{r.Setting: r.To})
			e := effect{key: "writes." + kind + "." + r.Setting, base: withWrites(t, kind, r.Of), change: func(c *subject) { c.Config = changed }}
			e.changes, e.keeps = seenOf(t, r.Seen)
			effects = append(effects, e)
		}
	}
	return effects
}

// TestWrites: bad settings are refused, defaults are filled in, none is the same as nothing, and
// saved configs keep the kind.
func TestWrites(t *testing.T) {
	for _, rows := range designrows.ReadWrites[[]refusedRow](t, "refused") {
		for _, r := range rows {
			_, err := tinyOn(t, plainStream, r.Model).Resolve()
			var bad *models.FieldError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, models.FieldError{Field: r.Key, Problem: r.Problem}, *bad)
		}
	}
	for _, rows := range designrows.ReadWrites[[]defaultsRow](t, "defaults") {
		for _, r := range rows {
			c := tinyOn(t, plainStream, designrows.Model{"writes": map[string]any(r.Of)}).WithDefaults()
			assert.Equal(t, tinyOn(t, plainStream, designrows.Model{"writes": map[string]any(r.Are)}).Writes, c.Writes)
			text, err := json.Marshal(c)
			require.NoError(t, err)
			read, err := models.Standard().Unmarshal(text)
			require.NoError(t, err)
			assert.Equal(t, c, read)
		}
	}
	none := withWrites(t, "none").WithDefaults()
	assert.Equal(t, tinyVector(plainly).WithDefaults(), none)
}

package models_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestDesignsHaveKeysInConfig: what a design calls a setting is a key of Config, of the same
// type; and it holds Common, which a model fills in.
func TestDesignsHaveKeysInConfig(t *testing.T) {
	keys := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[models.Config]()) {
		keys[f.Tag.Get("yaml")] = f.Type
	}
	for _, d := range models.Designs() {
		own := 0
		for _, f := range reflect.VisibleFields(reflect.TypeOf(d)) {
			if key := f.Tag.Get("yaml"); key != "" {
				assert.Equal(t, f.Type, keys[key], "%s: %s", d.Name(), key)
				own++
			}
		}
		assert.NotZero(t, own, d.Name())
		common, ok := reflect.TypeOf(d).FieldByName("Common")
		require.True(t, ok, d.Name())
		assert.Equal(t, reflect.TypeFor[stream.Common](), common.Type)
	}
}

// TestEachDesignHasItsNameAndAPreset: names differ, and each is that of a preset's stream.
func TestEachDesignHasItsNameAndAPreset(t *testing.T) {
	presets := map[string]bool{}
	for _, p := range models.Presets() {
		presets[p.Config.Stream] = true
		assert.Equal(t, p.Config.Stream, p.Config.Design().Name(), p.Name)
	}
	assert.Len(t, presets, len(models.Designs()))
	for _, name := range models.Streams() {
		assert.True(t, presets[name], "%s: want a preset", name)
	}
	assert.Nil(t, models.Config{Stream: "tensor"}.Design())
}

// TestWithStream: what belonged to the old stream alone is gone, what both have and what is no
// stream's stays; of those that start as a transformer, that transformer.
func TestWithStream(t *testing.T) {
	var grown []string
	for _, base := range zooBases() {
		d, ok := base.Design().(stream.Grown)
		if !ok {
			continue
		}
		grown = append(grown, d.Name())
		plain, ok := d.Plain()
		require.True(t, ok)
		assert.Equal(t, tinyVector(func(*models.Config) {}), base.WithStream(plain), base.Stream)
	}
	assert.Equal(t, []string{models.StreamHyper, models.StreamHyper, models.StreamMHC, models.StreamMHCLite, models.StreamVWN, models.StreamVWN, models.StreamHighway}, grown)
	rms := tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N, c.Norm = 3, 6, models.NormRMS })
	_, ok := rms.Design().(stream.Grown).Plain()
	assert.False(t, ok, "the groups' LayerNorm is not undone")
	assert.Equal(t, 4, tinyVector(func(*models.Config) {}).WithStream(stream.MHCConfig{N: 4}).N)
}

package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// TestCards: every stream, attention and feed-forward design has a card with all fields filled in,
// and so have the presets that have cards of their own.
func TestCards(t *testing.T) {
	titles := map[string]bool{}
	check := func(name string, c layers.Card) {
		for _, text := range []string{c.Title, c.Equation, c.Source, c.Use} {
			assert.NotEmpty(t, text, name)
			assert.Equal(t, strings.TrimSpace(text), text, name)
		}
		assert.False(t, titles[c.Title], "%s: %s twice", name, c.Title)
		titles[c.Title] = true
	}
	for _, d := range models.Standard().Streams() {
		check(d.Name(), d.Card())
	}
	for _, d := range models.Standard().Attentions() {
		check(d.Name(), d.Card())
	}
	for _, d := range models.Standard().FeedForwards() {
		check(d.Name(), d.Card())
	}
	for _, p := range models.Standard().Presets() {
		if p.Card != nil && p.Baseline == "quickstart-transformer" { // the large model has the same card
			check(p.Name, *p.Card)
		}
	}
}

// TestPlainPresets: the preset that a preset is compared with has as many blocks and the same
// width, vocabulary and row length.
func TestPlainPresets(t *testing.T) {
	zoo, compared := models.Standard(), 0
	for _, p := range zoo.Presets() {
		if p.Baseline == "" {
			continue
		}
		compared++
		plain, err := zoo.Preset(p.Baseline)
		require.NoError(t, err, p.Name)
		assert.Empty(t, plain.Baseline, p.Name)
		a, err := p.Config.Resolve()
		require.NoError(t, err)
		b, err := plain.Config.Resolve()
		require.NoError(t, err)
		assert.Equal(t, []int{b.Layers, b.Vocab, b.Seq}, []int{a.Layers, a.Vocab, a.Seq}, p.Name)
	}
	assert.Greater(t, compared, 20)
}

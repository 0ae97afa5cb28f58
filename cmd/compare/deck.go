package main

import (
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// card is a design's card and the preset that it shows.
type card struct {
	layers.Card
	preset string
}

// deck lists the cards of the plain transformer of that name and of the presets that are
// compared with it. Symbols in cards: F is a sublayer with its norm, D the width, L the blocks;
// h, H [n, D] and X are a token's state.
func deck(zoo models.Zoo, plain string) ([]card, error) {
	p, err := zoo.Preset(plain)
	if err != nil {
		return nil, err
	}
	cards := []card{{cardOf(zoo, p), p.Name}}
	for _, p := range zoo.Presets() {
		if p.Plain == plain {
			cards = append(cards, card{cardOf(zoo, p), p.Name})
		}
	}
	return cards, nil
}

// cardOf is the card of a preset's stream, or of its feed-forward if its stream is that of the
// transformer which it is compared with.
func cardOf(zoo models.Zoo, p models.Preset) layers.Card {
	plain, err := zoo.Preset(p.Plain)
	if err == nil && p.Config.FeedForward != nil && p.Config.Stream.Name() == plain.Config.Stream.Name() {
		return p.Config.FeedForward.Card()
	}
	return p.Config.Stream.Card()
}

// rowsOf returns the rows of the presets that have the card, and one without numbers if there
// is none.
func (c card) rowsOf(zoo models.Zoo, rows []zooRow) []zooRow {
	found := slices.DeleteFunc(slices.Clone(rows), func(r zooRow) bool {
		p, err := zoo.Preset(r.Name)
		return err != nil || cardOf(zoo, p).Title != c.Title
	})
	if len(found) == 0 {
		return []zooRow{{Name: c.preset, Shape: "-"}}
	}
	return found
}

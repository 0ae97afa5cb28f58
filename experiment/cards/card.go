// Package cards writes a page with a card for each residual stream: its equation and source, and how a
// small model of it learned next to a transformer of the same size.
package cards

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// Card is what a design says of itself, and the preset that stands for it. Symbols in equations: F is
// a sublayer with its norm, D the width, L the blocks; h, H [n, D] and X are a token's state.
type Card struct {
	layers.Card
	Name   string   // of its runs
	Preset string   // of its model
	Set    []string // overrides keys of the run config, for this card
}

// List returns the card of a baseline, the preset of a transformer, and those of the presets that name
// it as theirs.
func List(zoo models.Zoo, baseline string) ([]Card, error) {
	p, err := zoo.Preset(baseline)
	if err != nil {
		return nil, experiment.Setup(errors.WithMessage(err, "the baseline"))
	}
	all := []Card{{Card: cardOf(zoo, p), Name: p.Name, Preset: p.Name}}
	for _, p := range zoo.Presets() {
		if p.Baseline == baseline {
			all = append(all, Card{Card: cardOf(zoo, p), Name: p.Name, Preset: p.Name})
		}
	}
	return all, nil
}

// cardOf is the card of a preset's stream, or of its feed-forward if its stream is its
// baseline's.
func cardOf(zoo models.Zoo, p models.Preset) layers.Card {
	baseline, err := zoo.Preset(p.Baseline)
	if err == nil && p.Config.FeedForward != nil && p.Config.Stream.Name() == baseline.Config.Stream.Name() {
		return p.Config.FeedForward.Card()
	}
	return p.Config.Stream.Card()
}

// speedsOf returns the rows of the presets that have the card, and one without numbers if there is
// none.
func (c Card) speedsOf(zoo models.Zoo, all []bench.DesignResult) []bench.DesignResult {
	found := slices.DeleteFunc(slices.Clone(all), func(r bench.DesignResult) bool {
		p, err := zoo.Preset(r.Name)
		return err != nil || cardOf(zoo, p).Title != c.Title
	})
	if len(found) == 0 {
		return []bench.DesignResult{{Name: c.Preset, Shape: "-"}}
	}
	return found
}

// curve is the file of a card's loss curve, from the page's folder.
func (c Card) curve() string { return "curves/" + c.Name + ".svg" }

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
// it as theirs. Those of the modern block on its stream come first: they are baselines, too.
func List(zoo models.Zoo, baseline string) ([]Card, error) {
	p, err := zoo.Preset(baseline)
	if err != nil {
		return nil, experiment.Setup(errors.WithMessage(err, "the baseline"))
	}
	first, others := []Card{newCard(zoo, p)}, []Card(nil)
	for _, p := range zoo.Presets() {
		switch {
		case p.Baseline != baseline:
		case p.Modern && !changesStream(zoo, p):
			first = append(first, newCard(zoo, p), withMuon(newCard(zoo, p)))
		default:
			others = append(others, newCard(zoo, p))
		}
	}
	return append(first, others...), nil
}

func newCard(zoo models.Zoo, p models.Preset) Card {
	return Card{Card: cardOf(zoo, p), Name: p.Name, Preset: p.Name}
}

// withMuon is the same model trained by Muon, at the rates of AdamW.
func withMuon(c Card) Card {
	c.Title, c.Name, c.Set = c.Title+", trained by Muon", c.Name+"-muon", []string{"train.optim={kind: muon, scale: match_rms_adamw}"}
	c.Source += "; Jordan 2024 (Muon), with updates of AdamW's size as in Liu et al. 2025, arXiv 2502.16982"
	c.Use = "The same, its weight matrices updated by orthogonalised momentum. A step takes five iterations of matrix products a weight longer, and one moment less is kept."
	return c
}

// cardOf is the card of a preset's stream, or of its feed-forward if its stream is its
// baseline's.
func cardOf(zoo models.Zoo, p models.Preset) layers.Card {
	card := p.Config.Stream.Card()
	switch {
	case p.Modern:
		return modernCard(card)
	case p.Config.FeedForward != nil && p.Baseline != "" && !changesStream(zoo, p):
		return p.Config.FeedForward.Card()
	}
	return card
}

// changesStream tells whether a preset's stream is not its baseline's.
func changesStream(zoo models.Zoo, p models.Preset) bool {
	baseline, err := zoo.Preset(p.Baseline)
	return err != nil || p.Config.Stream.Name() != baseline.Config.Stream.Name()
}

// modernCard is the card of a stream with that block.
func modernCard(card layers.Card) layers.Card {
	card.Title += ", modern block"
	card.Equation += "\nF: RMSNorm; q and k by RMSNorm over a head, then RoPE; W2 (silu(W1 u) ⊙ (W3 u))"
	card.Source += "; the block as in Llama (Touvron et al. 2023, arXiv 2302.13971) and Qwen3 (2025, arXiv 2505.09388)"
	card.Use = "What most language models since 2023 are built of: RMSNorm, rotary positions, a gated feed-forward, normalised queries and keys and, where heads are the block's own, fewer heads of keys and values than of queries. The same model as above otherwise."
	return card
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

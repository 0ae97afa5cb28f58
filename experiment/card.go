package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// card is a design's own description, with the preset that represents the design. In equations, F
// is a sublayer with its norm, D the width, L the number of blocks; h, H [n, D] and X are a token's
// state.
type card struct {
	layers.Card
	series Series
	preset string
	muon   bool // the preset is trained by Muon
}

// cards returns the card of the baseline, the preset of a transformer, and those of the presets
// that name it as their baseline. The cards of the modern block on the baseline's stream come
// first, because they are baselines, too. Presets that Muon also trains have a second card.
func (s Cards) cards(zoo models.Zoo) ([]card, error) {
	p, err := zoo.Preset(s.Baseline)
	if err != nil {
		return nil, err
	}
	first, others := s.withMuon(newCard(zoo, p)), []card(nil)
	for _, p := range zoo.Presets() {
		switch {
		case p.Baseline != s.Baseline:
		case p.Modern && !changesStream(zoo, p):
			first = append(first, s.withMuon(newCard(zoo, p))...)
		default:
			others = append(others, s.withMuon(newCard(zoo, p))...)
		}
	}
	return append(first, others...), nil
}

// withMuon returns a card and, if its preset is also trained by Muon, a second card for that.
func (s Cards) withMuon(c card) []card {
	if slices.Contains(s.Muon, c.preset) {
		return []card{c, c.withMuon()}
	}
	return []card{c}
}

func newCard(zoo models.Zoo, p models.Preset) card {
	return card{Card: cardOf(zoo, p), series: Series{p.Name, []string{"model.preset=" + p.Name}}, preset: p.Name}
}

// withMuon returns the card of the same model trained by Muon, with AdamW's learning rates.
func (c card) withMuon() card {
	c.Title, c.series.Name = c.Title+byMuon, c.series.Name+muonSuffix
	c.muon = true
	c.series.Set = append(slices.Clone(c.series.Set), "train.optim={kind: muon, scale: match_rms_adamw}")
	return c
}

const (
	muonSuffix = "-muon"             // ends the names of series trained by Muon
	byMuon     = ", trained by Muon" // ends the titles of their cards
)

// optimizer returns the name of the card's optimizer, which is also the name of a series of
// Cards.Curve.
func (c card) optimizer() string {
	if c.muon {
		return "muon"
	}
	return "adamw"
}

// cardOf returns a preset's own card. If it has none, cardOf returns the card of its stream or, if
// its stream is the baseline's, the card of its attention or of its feed-forward. A preset with a
// section writes has the card of that section, on any stream.
func cardOf(zoo models.Zoo, p models.Preset) layers.Card {
	card := p.Config.Stream.Card()
	switch {
	case p.Modern:
		return modernCard(card)
	case p.Card != nil:
		return *p.Card
	case p.Config.Writes != nil:
		return writesCard(card, p.Config.Writes.Card(), changesStream(zoo, p))
	case p.Config.Attention.Kind != nil && p.Baseline != "" && !changesStream(zoo, p):
		return p.Config.Attention.Kind.Card()
	case p.Config.FeedForward != nil && p.Baseline != "" && !changesStream(zoo, p):
		return p.Config.FeedForward.Card()
	}
	return card
}

// writesCard returns the card of a preset's section writes. With named, its title begins with the
// stream's.
func writesCard(on, card layers.Card, named bool) layers.Card {
	if named {
		card.Title = on.Title + ", " + strings.ToLower(card.Title[:1]) + card.Title[1:]
	}
	return card
}

// changesStream tells whether a preset's stream differs from its baseline's.
func changesStream(zoo models.Zoo, p models.Preset) bool {
	baseline, err := zoo.Preset(p.Baseline)
	return err != nil || p.Config.Stream.Name() != baseline.Config.Stream.Name()
}

// modernCard returns the card of a stream with the modern block.
func modernCard(card layers.Card) layers.Card {
	card.Title += ", modern block"
	card.Equation += "\nF: RMSNorm; q and k by RMSNorm over a head, then RoPE; W2 (silu(W1 u) ⊙ (W3 u))"
	card.Source += "; the block as in Llama (Touvron et al. 2023, arXiv 2302.13971) and Qwen3 (2025, arXiv 2505.09388)"
	card.Use = "What most language models since 2023 are built of: RMSNorm, rotary positions, a gated feed-forward, normalised queries and keys and, " +
		"where heads are the block's own, fewer heads of keys and values than of queries. The same model as above otherwise."
	return card
}

// measuredIn tells whether a row of a report of bench zoo was trained by the card's optimizer.
func (c card) measuredIn(r bench.DesignResult) bool {
	return c.optimizer() == cmp.Or(r.Optim, bench.OptimizerNames()[0])
}

// speeds returns the rows of a report of bench zoo that belong to presets with this card, by
// whatever optimizer.
func (c card) speeds(zoo models.Zoo, measured []bench.DesignResult) figure.Table {
	t := figure.NewTable("", "llrrrr", "model", "shape", "time a step", "FLOPs a token", "bytes moved a step", "peak memory")
	known := func(v float64, format string) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf(format, v)
	}
	for _, r := range measured {
		if p, err := zoo.Preset(r.Name); err == nil && cardOf(zoo, p).Title == c.Title {
			name := r.Name
			if !c.measuredIn(r) {
				name += ", " + r.Optim
			}
			t.Row(name, r.Shape, known(r.Time, "%.2fx"), known(r.FLOPs, "%.2fx"), known(r.Bytes, "%.2fx"), known(r.PeakMB, "%.0f MB"))
		}
	}
	return t
}

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

// cardOf returns the card of a preset's stream or, if its stream is the baseline's, of its
// attention, its feed-forward or its loop. What happens to writes has a card on any stream.
func cardOf(zoo models.Zoo, p models.Preset) layers.Card {
	card := p.Config.Stream.Card()
	switch {
	case p.Modern:
		return modernCard(card)
	case p.Config.Loops > 1:
		return loopedCard()
	case p.Config.Writes != nil:
		return writesCard(card, p.Config.Writes.Card(), changesStream(zoo, p))
	case p.Config.Attention.ValueEmbeddings > 0:
		return nanoChatCard()
	case p.Config.Attention.Kind != nil && p.Baseline != "" && !changesStream(zoo, p):
		return p.Config.Attention.Kind.Card()
	case p.Config.FeedForward != nil && p.Baseline != "" && !changesStream(zoo, p):
		return p.Config.FeedForward.Card()
	}
	return card
}

// loopedCard returns the card of a transformer with a loop.
func loopedCard() layers.Card {
	return layers.Card{
		Title: "Looped blocks",
		Equation: "h <- B_(b-1) ... B_0 h, once;   h <- B_(e-1) ... B_b h, k times;   h <- B_(L-1) ... B_e h, once\n" +
			"B_l: block l, with the same weights each time          loop_begin b, loop_end e, loops k",
		Source: "Dehghani et al. 2018, arXiv 1807.03819 (universal transformers); as in Ouro, arXiv 2510.25741, without its norms and gates between passes",
		Use: "Depth without weights: tokens pass a run of blocks k times, on any stream. It has the parameters of the blocks, and the FLOPs, activations " +
			"and key-value cache of the depth: this preset, blocks 1 and 2 of 4 three times, takes twice its transformer's. With k = 1 it is the transformer.",
	}
}

// writesCard returns the card of what happens to writes, named after the stream unless that is the
// baseline's.
func writesCard(on, card layers.Card, named bool) layers.Card {
	if named {
		card.Title = on.Title + ", " + strings.ToLower(card.Title[:1]) + card.Title[1:]
	}
	return card
}

// nanoChatCard returns the card of nanochat's blocks.
func nanoChatCard() layers.Card {
	return layers.Card{
		Title: "nanochat",
		Equation: "h_0 = e_t + lambda_s sigmoid(e_t[:24] w_s) e_(t-1),   e = Norm(embedding)\n" +
			"h <- lambda_l h + mu_l h_0 before block l;   h <- h - lambda_b h_(L/2) before the last norm\n" +
			"v <- v + 3 sigmoid(u[:12] W_g) V_l[token], every other block;   F: relu(W_1 u)^2 W_2;   logits: 15 tanh(z / 15)",
		Source: "Karpathy's nanochat since July 2026 (commit 92d63d4), after modded-nanogpt's records",
		Use: "A vector stream with what nanochat's author kept: the token before's embedding (smear), the first state in every block (x0), the state " +
			"after half of the blocks subtracted at the end (backout), and values looked up by token. Smear, x0 and backout have few parameters and FLOPs, " +
			"but each passes over the stream; the tables of values have V times the width of keys in every other block. nanochat trains it by Muon, " +
			"at rates of its own.",
	}
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

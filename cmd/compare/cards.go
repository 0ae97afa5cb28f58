package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
)

// cardRates are the rates that each card's stream trains at.
func cardRates() []float64 { return []float64{1e-3, 3e-3, 1e-2} }

// measured is a card with what was measured of it.
type measured struct {
	card
	standing
	entries int // of a token's state
	rows    []zooRow
}

// album is the cards as they are written.
type album struct {
	file   string // the page
	tokens int64
	rates  []float64
	seed   uint64
	sets   []string
	cards  []measured // the plain transformer's first
}

// writeCards is -cards.
func (c *call) writeCards(ctx context.Context, out cli.Output) error {
	rates, err := c.rateList(cardRates())
	if err != nil {
		return err
	}
	if c.tokens < 1 {
		return cli.Usagef("-tokens: want >= 1, got %d", c.tokens)
	}
	speeds, err := readZoo(c.speeds)
	if err != nil {
		return cli.Usage(err)
	}
	a := &album{file: c.cards, tokens: c.tokens, rates: rates, seed: c.seed, sets: c.sets}
	if err := a.measure(ctx, c, speeds, out); err != nil {
		return err
	}
	files, err := a.draw()
	if err != nil {
		return err
	}
	if err := writeFile(a.file, func(w io.Writer) error { _, err := io.WriteString(w, a.page()); return err }); err != nil {
		return err
	}
	return out.Print("files:\n  " + strings.Join(append(files, a.file), "\n  ") + "\n")
}

// plainPreset is the transformer of the cards in docs, plainConfig the run config that all cards'
// presets are trained with.
const (
	plainPreset = "quickstart-transformer"
	plainConfig = "quickstart-transformer"
)

// measure trains every card's preset at each rate.
func (a *album) measure(ctx context.Context, c *call, speeds []zooRow, out cli.Output) error {
	cards, err := deck(c.zoo, c.plain)
	if err != nil {
		return cli.Usage(errors.WithMessage(err, "-plain"))
	}
	var presets []entrant
	for _, card := range cards {
		presets = append(presets, entrant{plainConfig, []string{"name=" + card.preset, "model.preset=" + card.preset}})
	}
	// As many validation tokens as a run trains on, at most the config's own number.
	sets := append([]string{fmt.Sprintf("train.eval_tokens=%d", min(a.tokens, int64(config.Defaults().Train.EvalTokens)))}, c.sets...)
	entries, err := contest{c.zoo, c.out, c.seed, sets}.enter(ctx, presets, &budget{axisTokens, float64(a.tokens)}, a.rates)
	if err != nil {
		return err
	}
	standings, err := hold(ctx, entries, out)
	if err != nil {
		return err
	}
	for i, card := range cards {
		a.cards = append(a.cards, measured{card, standings[i], entries[i].runs[0].Spec().StreamSize(), card.rowsOf(c.zoo, speeds)})
	}
	return nil
}

// plain is the transformer's card, which all others are compared with.
func (a *album) plain() measured { return a.cards[0] }

// draw writes each card's curve next to the transformer's.
func (a *album) draw() ([]string, error) {
	var files []string
	for i, m := range a.cards {
		shown := []standing{a.plain().standing}
		if i > 0 {
			shown = append(shown, m.standing)
		}
		file := filepath.Join(filepath.Dir(a.file), filepath.FromSlash(curveOf(m.card)))
		if err := writeFile(file, drawing(curvePicture(m.Title, shown))); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// curvePicture is the race of a card: the best rates' runs, named with them.
func curvePicture(title string, all []standing) figure.Lines {
	var shown []racer
	for _, s := range all {
		shown = append(shown, racer{fmt.Sprintf("%s at %g", s.Model, s.Best.Rate), s.Best, s.FLOPs})
	}
	return racePicture(title, shown, axisTokens)
}

// curveOf is a curve's file from the page's folder.
func curveOf(c card) string { return "curves/" + c.preset + ".svg" }

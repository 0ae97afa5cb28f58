package compare

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/cards"
	"github.com/residua-go/residua/experiment/search"
	"github.com/residua-go/residua/internal/cli"
)

// writeCards is -cards.
func (c *call) writeCards(ctx context.Context, out cli.Output) error {
	switch {
	case c.tokens < 1:
		return cli.Usagef("-tokens: want >= 1, got %d", c.tokens)
	case c.seeds < 1:
		return cli.Usagef("-seeds: want >= 1, got %d", c.seeds)
	case c.stopAfter < 0:
		return cli.Usagef("-stop-after: want >= 0, got %s", c.stopAfter)
	}
	measured, err := bench.ReadReport(c.speeds)
	if os.IsNotExist(err) {
		measured = &bench.Report{}
	} else if err != nil {
		return cli.Usage(errors.WithMessage(err, "-zoo"))
	}
	page, err := cards.Measure(ctx, cards.Options{Zoo: c.zoo, Baseline: c.baseline, Tokens: c.tokens, Seed: c.seed, Search: search.Options{Seeds: c.seeds},
		Only: c.onlyCards(), StopAfter: c.stopAfter, Set: c.sets, Out: c.out, Speeds: measured.Designs, Command: out.Call(c.cardsCall())}, logTo(out))
	if err != nil {
		return usage(err)
	}
	var files []string
	for _, curve := range page.Curves() {
		files = append(files, filepath.Join(filepath.Dir(c.cards), filepath.FromSlash(curve.File)))
		if err := cli.WriteFigure(files[len(files)-1], curve.Chart); err != nil {
			return err
		}
	}
	if err := cli.WriteFile(c.cards, func(w io.Writer) error { _, err := io.WriteString(w, page.Markdown()); return err }); err != nil {
		return err
	}
	return out.Print(listed(append(files, c.cards)...))
}

// onlyCards are the cards of -only; none: all.
func (c *call) onlyCards() []string {
	if c.only == "" {
		return nil
	}
	return strings.Split(c.only, ",")
}

// cardsCall is the call that writes the page again.
func (c *call) cardsCall() string {
	text := fmt.Sprintf("compare -cards %s -tokens %d", filepath.ToSlash(c.cards), c.tokens)
	if c.seeds != defaultSeeds {
		text += fmt.Sprintf(" -seeds %d", c.seeds)
	}
	if c.seed != 0 {
		text += fmt.Sprintf(" -seed %d", c.seed)
	}
	if c.baseline != cards.Baseline {
		text += " -baseline " + c.baseline
	}
	for _, set := range c.sets {
		text += " -set " + set
	}
	return text
}

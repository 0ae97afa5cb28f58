package cards

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/experiment/search"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Baseline is the transformer's preset that the cards of docs/models.md are compared with. It is also
// the run config that all presets are trained with.
const Baseline = "quickstart-transformer"

// Options say how the cards' models are trained. The zero value has all defaults but the zoo.
type Options struct {
	Zoo       models.Zoo
	Baseline  string               // the preset that the others are compared with; "": Baseline
	Tokens    int64                // of each run; 0: 1,000,000
	Seed      uint64               // of weights and batches: the first one's
	Search    search.Options       // of the best rate; its Seed is Seed
	Only      []string             // the presets to be trained, in this order; none: all
	StopAfter time.Duration        // start no run after this time; 0: never stop
	Set       []string             // overrides keys of the run config, as in data.source=files
	Out       string               // the folder in which each run has a folder
	Speeds    []bench.DesignResult // of the presets, where they were measured
	Command   string               // how the page says that it was written
}

func (o Options) defaults() Options {
	if o.Baseline == "" {
		o.Baseline = Baseline
	}
	if o.Tokens == 0 {
		o.Tokens = 1_000_000
	}
	o.Search.Seed = o.Seed
	return o
}

// Page is the cards with what was measured.
type Page struct {
	options Options
	cards   []*measured // the baseline's first
}

// measured is a card with what was measured of it.
type measured struct {
	Card
	parameters, flops int // flops: a token in training
	entries           int // of a token's state
	found             *search.Result
	best              *experiment.Result // the run of the best rate, with the first seed; nil: none is complete
	speeds            []bench.DesignResult
}

// Measure looks for the best rate of each card's preset: runs that are complete in their folders are read, others are
// trained as experiment.Complete does, while there is time. What is wrong with the options or the text is a
// *experiment.SetupError.
func Measure(ctx context.Context, o Options, log experiment.Log) (*Page, error) {
	o = o.defaults()
	if o.Tokens < 1 {
		return nil, experiment.Setupf("want tokens >= 1, got %d", o.Tokens)
	}
	cards, err := List(o.Zoo, o.Baseline)
	if err != nil {
		return nil, err
	}
	runs := &runner{options: o, log: log, began: time.Now()}
	p := &Page{options: o}
	for _, c := range cards {
		m, err := runs.describe(ctx, c)
		if err != nil {
			return nil, err
		}
		p.cards = append(p.cards, m)
	}
	todo, err := p.chosen()
	if err != nil {
		return nil, err
	}
	for i, m := range todo {
		runs.place = fmt.Sprintf("card %d of %d", i+1, len(todo))
		if err := runs.search(ctx, m, true); err != nil {
			return nil, err
		}
	}
	for _, m := range p.cards {
		if err := runs.search(ctx, m, false); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// chosen are the cards to be trained.
func (p *Page) chosen() ([]*measured, error) {
	if len(p.options.Only) == 0 {
		return p.cards, nil
	}
	var all []*measured
	for _, name := range p.options.Only {
		at := slices.IndexFunc(p.cards, func(m *measured) bool { return m.Name == name })
		if at < 0 {
			var names []string
			for _, m := range p.cards {
				names = append(names, m.Name)
			}
			return nil, experiment.Setupf("want cards of %s, got %q", strings.Join(names, ", "), name)
		}
		all = append(all, p.cards[at])
	}
	return all, nil
}

// Curve is a card's picture.
type Curve struct {
	File  string // SVG, from the page's folder, with slashes
	Chart figure.Lines
}

// Curves draws the training loss of each card's best run next to the transformer's. The page shows
// them. A card without a run has none.
func (p *Page) Curves() []Curve {
	var all []Curve
	for i, m := range p.cards {
		if m.best == nil {
			continue
		}
		var shown []compare.Model
		if base := p.cards[0]; i > 0 && base.best != nil {
			shown = append(shown, base.bestRun())
		}
		chart := compare.LossChart(append(shown, m.bestRun()), compare.Tokens)
		chart.Title = m.Title
		all = append(all, Curve{m.curve(), chart})
	}
	return all
}

// bestRun is a model of the best run alone, named with the rate.
func (m *measured) bestRun() compare.Model {
	return compare.Model{Name: fmt.Sprintf("%s at %g", m.Name, m.best.Rate), Runs: []*experiment.Result{m.best}}
}

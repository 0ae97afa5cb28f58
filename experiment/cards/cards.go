package cards

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Baseline is the transformer's preset that the cards of docs/models.md are compared with. It is also
// the run config that all presets are trained with.
const Baseline = "quickstart-transformer"

// Options say how the cards' models are trained. The zero value has all defaults but the zoo.
type Options struct {
	Zoo      models.Zoo
	Baseline string               // the preset that the others are compared with; "": Baseline
	Tokens   int64                // of each run; 0: 1,000,000
	Rates    []float64            // peak learning rates; none: 1e-3, 3e-3, 1e-2
	Seed     uint64               // of weights and batches
	Set      []string             // overrides keys of the run config, as in data.source=files
	Out      string               // the folder in which each run has a folder
	Speeds   []bench.DesignResult // of the presets, where they were measured
	Command  string               // how the page says that it was written
}

func (o Options) defaults() Options {
	if o.Baseline == "" {
		o.Baseline = Baseline
	}
	if o.Tokens == 0 {
		o.Tokens = 1_000_000
	}
	if len(o.Rates) == 0 {
		o.Rates = []float64{1e-3, 3e-3, 1e-2}
	}
	return o
}

// Page is the cards with what was measured.
type Page struct {
	options Options
	cards   []measured // the baseline's first
}

// measured is a card with what was measured of it.
type measured struct {
	Card
	compare.Model
	entries int // of a token's state
	speeds  []bench.DesignResult
}

// Measure trains every card's preset at each rate, as compare.Train does. What is wrong with the
// options or the text is a *experiment.SetupError.
func Measure(ctx context.Context, o Options, log compare.Log) (*Page, error) {
	o = o.defaults()
	if o.Tokens < 1 {
		return nil, experiment.Setupf("want tokens >= 1, got %d", o.Tokens)
	}
	cards, err := List(o.Zoo, o.Baseline)
	if err != nil {
		return nil, err
	}
	var configs []compare.Config
	for _, c := range cards {
		configs = append(configs, compare.Config{File: Baseline, Set: []string{"name=" + c.Preset, "model.preset=" + c.Preset}})
	}
	plan := compare.Plan{Zoo: o.Zoo, Out: o.Out, Seed: o.Seed, Rates: o.Rates, Budget: compare.Budget{Unit: compare.Tokens, Amount: float64(o.Tokens)}}
	// As many validation tokens as a run trains on, at most the config's own number.
	plan.Set = append([]string{fmt.Sprintf("train.eval_tokens=%d", min(o.Tokens, int64(config.Defaults().Train.EvalTokens)))}, o.Set...)
	trainings, err := plan.Trainings(ctx, configs)
	if err != nil {
		return nil, err
	}
	trained, err := compare.Train(ctx, trainings, log)
	if err != nil {
		return nil, err
	}
	p := &Page{options: o}
	for i, c := range cards {
		p.cards = append(p.cards, measured{c, trained[i], trainings[i].Runs[0].Spec().StreamSize(), c.speedsOf(o.Zoo, o.Speeds)})
	}
	return p, nil
}

// Curve is a card's picture.
type Curve struct {
	File  string // SVG, from the page's folder, with slashes
	Chart figure.Lines
}

// Curves draws the training loss of each card's best run next to the transformer's. The page shows
// them.
func (p *Page) Curves() []Curve {
	var all []Curve
	for i, m := range p.cards {
		shown := []compare.Model{p.cards[0].bestRun()}
		if i > 0 {
			shown = append(shown, m.bestRun())
		}
		chart := compare.LossChart(shown, compare.Tokens)
		chart.Title = m.Title
		all = append(all, Curve{m.curve(), chart})
	}
	return all
}

// bestRun is the model with its best run alone, named with the rate.
func (m measured) bestRun() compare.Model {
	best := m.Model
	best.Name, best.Runs = fmt.Sprintf("%s at %g", m.Name, m.Best.Rate), []*compare.Result{m.Best}
	return best
}

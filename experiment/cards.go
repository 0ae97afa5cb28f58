package experiment

import (
	"fmt"
	"math"
	"os"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// Cards trains a transformer and each preset of the zoo that is compared with it, and writes a page with a card for each: its equation
// and source, its score and how it learned next to the transformer. Its series are the presets.
type Cards struct {
	plain
	Baseline string `yaml:"baseline" help:"the transformer's preset; the others are those that the zoo compares with it"`
	Speeds   string `yaml:"speeds" help:"file that bench zoo -out has written: speed and memory of the presets; nothing: they are not shown"`
}

// Name is cards.
func (Cards) Name() string { return "cards" }

func (s Cards) check(c *Config) error {
	if _, err := s.measured(); err != nil {
		return c.where.Errorf("experiment.speeds", "%v", err)
	}
	return nil
}

// measured is what bench has measured, nothing where the file is not there.
func (s Cards) measured() ([]bench.DesignResult, error) {
	if s.Speeds == "" {
		return nil, nil
	}
	r, err := bench.ReadReport(s.Speeds)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.Designs, nil
}

func (s Cards) series(zoo models.Zoo) (models.Zoo, []Series, error) {
	cards, err := cardsOf(zoo, s.Baseline)
	var all []Series
	for _, c := range cards {
		all = append(all, c.series)
	}
	return zoo, all, err
}

func (s Cards) report(r *results) (out Report) {
	cards, _ := cardsOf(r.plan.zoo, s.Baseline) // it was read for the plan, as were the speeds
	measured, _ := s.measured()
	out.Intro = fmt.Sprintf(cardsIntro, cards[0].preset)
	overview := figure.Table{Align: "lrrrrrr", Header: []string{"stream", "parameters", "train FLOPs a token", "entries a token", "rate", "bits per byte", "compared with the transformer"}}
	for i, c := range r.all {
		run := c.planned[joined(c.series, "seed0")].Run
		cost := run.Spec().Cost()
		parameters, flops := fmt.Sprintf("%.2fM", float64(cost.Parameters)/1e6), fmt.Sprintf("%.1fM", float64(cost.TrainFLOPs())/1e6)
		section := Section{Title: cards[i].Title, File: "curves/" + c.series + ".svg", Table: cards[i].speeds(r.plan.zoo, measured)}
		section.Text = fmt.Sprintf("```\n%s\n```\n\n%s.\n\n%s\n\nPreset `%s`: %s parameters, %sFLOP a token in training, %d entries of state a token.\nValidation, bits per byte: %s.\n\n",
			cards[i].Equation, cards[i].Source, cards[i].Use, cards[i].preset, parameters, flops[:len(flops)-1]+" M", cost.StreamSize, c.scores())
		rate := "not trained yet"
		if len(c.runs) > 0 {
			rate = fmt.Sprintf("%g", c.runs[0].Rate)
			if len(c.todo) > 0 {
				rate += " so far"
			}
			section.Picture = learning(section.Title, r.all[:min(i, 1)], c)
		}
		overview.Row(section.Title, parameters, flops, fmt.Sprint(cost.StreamSize), rate, estimate(bits(c), "%.3f"), c.comparedWith(r.all[0]))
		out.Sections = append(out.Sections, section)
	}
	out.Tables = []figure.Table{overview}
	return out
}

// cardsIntro begins the page of cards.
const cardsIntro = "A card for each residual stream, of presets of the size of `%s`: all learn the same text for as many tokens. A score is the mean over seeds of " +
	"weights and batches, the number after ± its standard error. These are small models and few tokens: an order here need not be the order at scale. Time, FLOPs and bytes " +
	"moved are multiples of the transformer's of the same shape, as `residua bench zoo` measured them.\n\n"

// bits are the scores of a cell's runs.
func bits(c result) []float64 {
	return c.values(func(r Record) float64 { return float64(r.Bits) })
}

// scores lists those of each rate, or of each seed.
func (c result) scores() string {
	score := func(r Record) trainer.Number { return r.Bits }
	switch {
	case len(c.runs) == 0:
		return "not trained yet"
	case len(c.tried) == 0:
		return scores(c.runs, score, "%.3f")
	}
	return c.rates(score, "**%.3f**")
}

// comparedWith is the difference of the score from the baseline's.
func (c result) comparedWith(base result) string {
	difference := stats.Mean(bits(c)).Minus(stats.Mean(bits(base)))
	if c.cell == base.cell || math.IsNaN(difference.Mean) {
		return "-"
	}
	text := fmt.Sprintf("%+.3f", difference.Mean)
	if !math.IsNaN(difference.Error) {
		text += fmt.Sprintf(" ± %.3f", difference.Error)
	}
	switch {
	case len(c.todo)+len(base.todo) > 0:
		text += ", not finished"
	case !difference.Certain():
		text += ", within two standard errors"
	}
	return text
}

// learning draws the training loss of a cell's first run next to others'.
func learning(title string, others []result, c result) figure.Lines {
	chart := figure.Lines{Title: title, XLabel: "million tokens", YLabel: "training loss (nats a token)"}
	for _, c := range append(others[:len(others):len(others)], c) {
		if len(c.runs) == 0 {
			continue
		}
		line, n := figure.Series{Name: fmt.Sprintf("%s at %g", c.series, c.runs[0].Rate)}, float64(len(c.runs[0].Curve))
		for i, loss := range c.runs[0].Curve {
			line.X, line.Y = append(line.X, (float64(i)+0.5)/n*float64(c.runs[0].Tokens)/1e6), append(line.Y, float64(loss))
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

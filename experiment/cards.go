package experiment

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// Cards trains a transformer and each preset of the zoo that is compared with it, and writes a page
// with a card for each: its equation and source, its score, and its training loss with the
// transformer's. Its series are the presets.
type Cards struct {
	Plain
	Baseline string              `yaml:"baseline" help:"the transformer's preset; the others are those that the zoo compares with it"`
	Sizes    map[string][]string `yaml:"sizes"`
	Muon     []string            `yaml:"muon" help:"presets that are also trained by Muon, and have a second card for that"`
	Curve    string              `yaml:"curve"`
	Speeds   []string            `yaml:"speeds" help:"files that bench zoo -out has written, for speed and memory by each optimizer; none: not shown"`
}

// Help returns the help texts that are too long for tags, by key.
func (Cards) Help() map[string]string {
	return map[string]string{
		"sizes": "settings by preset that make other sizes of all, as in {quickstart: [model.stream.dv=16], others: " +
			"[model.stream.d_model=128]}; others is for the presets that are not named; nothing: the presets' own sizes",
		"curve": "config of a sweep of the transformer over train.tokens, with the series adamw and muon: how many tokens it needs for " +
			"a loss (columns Sc and Sw); nothing: no columns",
	}
}

// Name returns "cards".
func (Cards) Name() string { return "cards" }

func (s Cards) Check(c *Config) error {
	if _, err := s.measured(); err != nil {
		return c.where.Errorf("experiment.speeds", "%v", err)
	}
	return nil
}

// measured returns the results of bench in the files of Speeds; files that do not exist are
// left out.
func (s Cards) measured() (all []bench.DesignResult, err error) {
	for _, file := range s.Speeds {
		r, err := bench.ReadReport(file)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return nil, err
		}
		all = append(all, r.Designs...)
	}
	return all, nil
}

func (s Cards) Gather(zoo models.Zoo) (models.Zoo, []Series, error) {
	cards, err := s.cards(zoo)
	if err != nil {
		return zoo, nil, err
	}
	var all []Series
	unknown := maps.Clone(s.Sizes)
	delete(unknown, others)
	for _, name := range s.Muon {
		if !slices.ContainsFunc(cards, func(c card) bool { return c.preset == name }) {
			return zoo, nil, errors.Errorf("muon: want presets that have a card, got %q", name)
		}
	}
	for _, c := range cards {
		sizes, named := s.Sizes[c.preset]
		if !named {
			sizes = s.Sizes[others]
		}
		delete(unknown, c.preset)
		all = append(all, Series{Name: c.series.Name, Set: slices.Concat(c.series.Set, sizes)})
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		return zoo, nil, errors.Errorf("sizes: want presets that have a card, or %s, got %q", others, name)
	}
	return zoo, all, nil
}

// others is the key in Cards.Sizes for the presets that are not named there.
const others = "others"

func (s Cards) Report(r *Results) (out Report) {
	cards, _ := s.cards(r.plan.zoo) // the error was checked when the plan was made, and so were the speeds
	measured, _ := s.measured()
	needed, err := s.curves(r.plan.zoo)
	if err != nil {
		out.Notes = append(out.Notes, "Without Sc and Sw: "+err.Error())
	}
	overview := figure.NewTable("Sc and Sw: how many times a design's tokens, and its time, the transformer needs for its loss", "lrrrrrrrrr", "stream",
		"parameters", "train FLOPs a token", "entries a token", "rate", "bits per byte", "minus the transformer's", "seeds", "Sc", "Sw")
	curves := figure.Panels{Across: 3, OwnAxes: true}
	base := r.all[0]
	out.Cards = cardsHead
	var shown equations
	for i, c := range r.all {
		cost, card := c.first.Run.Spec().Cost(), cards[i]
		sizes := []string{fmt.Sprintf("%.2fM", float64(cost.Parameters)/1e6), fmt.Sprintf("%.1fM", float64(cost.TrainFLOPs())/1e6), fmt.Sprint(cost.StreamSize)}
		rate := "not trained yet"
		switch {
		case len(c.runs) > 0:
			rate = fmt.Sprintf("%g", c.runs[0].Rate)
		case len(c.tried) > 0:
			rate = "being looked for"
		}
		if len(c.curves()) > 0 {
			curves.Charts = append(curves.Charts, learning(card.Title, base, c))
		}
		sc, sw := card.factors(c, needed[card.optimizer()].with(r.baseline(card.muon)), measured)
		overview.Row(card.Title, sizes[0], sizes[1], sizes[2], rate, estimate(c.bits(), "%.3f"), c.comparedWith(base), len(c.losses()), sc, sw)
		if card.muon { // its design's section is above
			continue
		}
		out.Cards += fmt.Sprintf("\n## %s\n\n%s\n%s.\n\n%s\n\nPreset `%s`: %s parameters, %s FLOPs a token in training, %s entries of state a token.\n",
			card.Title, shown.show(card.Card), card.Source, card.Use, card.preset, sizes[0], sizes[1], sizes[2])
		if speeds := card.speeds(r.plan.zoo, measured); len(speeds.Rows) > 0 {
			out.Cards += "\n" + speeds.Markdown()
		}
	}
	out.Tables, out.Picture = []figure.Table{overview}, curves
	return out
}

// cardsHead is the text above the cards.
const cardsHead = "\nA score is the mean over seeds of weights and batches, the number after ± its standard error; the table's differences are of means, " +
	"those of the contrasts are taken seed by seed. These are small models and few tokens: an order here need not be the order at scale. " +
	"Sc is how many times its tokens the transformer needs for its loss, by the same optimizer and at a rate of its own (studies/baselines.yaml); " +
	"Sw is Sc times its speed over the transformer's. Time, FLOPs and bytes moved are multiples of the transformer's of the same shape, " +
	"as `residua bench zoo` measured them. [The glossary](glossary.md) explains the words.\n\n" +
	"Below is a section for each design. A row *trained by Muon* is of the same model, whose weight matrices are updated by orthogonalised momentum " +
	"(Jordan 2024, with updates of AdamW's size as in Liu et al. 2025, arXiv 2502.16982): " +
	"a step takes five iterations of matrix products a weight longer, and one moment less is kept.\n"

// equations lists what the sections of a page of cards have shown so far: for each section a card
// with its title, whose Equation is the part that the section itself shows.
type equations []layers.Card

// show returns a card's equation in Markdown. Lines at its beginning that an earlier section has
// shown are a link to that section.
func (e *equations) show(c layers.Card) string {
	rest, links := c.Equation+"\n", []string(nil)
	for range 2 { // of the stream, of the block
		for _, shown := range *e {
			if after, ok := strings.CutPrefix(rest, shown.Equation); ok {
				anchor := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(shown.Title))
				links, rest = append(links, fmt.Sprintf("[%s](#%s)", shown.Title, anchor)), after
				break
			}
		}
	}
	as := "As in " + strings.Join(links, " and ")
	switch {
	case rest == "":
		return as + ".\n"
	case len(links) == 0:
		as = ""
	default:
		as += ", and\n\n"
	}
	*e = append(*e, layers.Card{Title: c.Title, Equation: rest})
	return as + "```\n" + rest + "```\n"
}

// baseline returns the cell of the transformer, trained by Muon or by AdamW. These are the
// first two cards if there are cards with Muon.
func (r *Results) baseline(muon bool) Result {
	base := r.all[0]
	for _, c := range r.all[1:] {
		if muon && c.series == base.series+muonSuffix {
			return c
		}
	}
	return base
}

// comparedWith formats the difference between the score and the baseline's.
func (c Result) comparedWith(base Result) string {
	difference := stats.Mean(c.bits()).Minus(stats.Mean(base.bits()))
	if c.cell == base.cell || math.IsNaN(difference.Mean) {
		return "-"
	}
	text := plusMinus(difference, "%+.3f")
	switch {
	case len(c.todo)+len(base.todo) > 0:
		text += ", not finished"
	case !difference.Certain():
		text += ", within two standard errors"
	}
	return text
}

// curves returns the runs whose training loss is drawn: the cell's runs or, while there are
// none, those of the search for its rate.
func (c Result) curves() []Record {
	if len(c.runs) > 0 {
		return c.runs
	}
	return c.tried
}

// learning draws the training loss of a cell's first run and of the baseline's.
func learning(title string, base, c Result) figure.Lines {
	chart := figure.Lines{Title: title, XLabel: "million tokens", YLabel: "training loss (nats a token)"}
	add := func(r Record) {
		chart.Series = append(chart.Series, r.curve(fmt.Sprintf("%s at %g", r.Series, r.Rate), 1e-6))
	}
	if len(base.curves()) > 0 && base.cell != c.cell {
		add(base.curves()[0])
	}
	add(c.curves()[0])
	return chart
}

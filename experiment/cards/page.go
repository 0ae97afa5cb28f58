package cards

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/experiment/search"
	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
)

// Markdown is the page's text.
func (p *Page) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, `# Models

A card for each residual stream, all of quickstart's size: 4 blocks of width 256 on bytes, on the source of the Go
standard library. Every preset is trained as configs/quickstart-transformer.yaml says, on the same %s tokens (rounded up to whole steps), at rates four
a decade (0.001, 0.0018, 0.0032, 0.0056, 0.01, and on both ways), until its best rate lies between two worse ones, and at that rate with %d seeds
of weights and batches. A score is their mean, and the number after ± its standard error. The best rate is chosen by one seed. These are small
models and few tokens: an order here need not be the order at scale. Time, FLOPs and bytes moved are multiples of the plain
transformer's of the same shape, as `+"`residua bench zoo`"+` measured them (-: not yet).

%s

Written by `+"`%s`"+`; do not edit.

`, figure.Thousands(p.options.Tokens), p.options.Search.SeedCount(), p.unfinished(), p.options.Command)
	p.writeOverview(&text)
	for i, m := range p.cards {
		m.write(&text, i == 0)
	}
	return text.String()
}

// unfinished says which cards are not, and how one goes on.
func (p *Page) unfinished() string {
	var names []string
	for _, m := range p.cards {
		if !m.found.Done {
			names = append(names, m.Title)
		}
	}
	if len(names) == 0 {
		return "All searches are finished."
	}
	return fmt.Sprintf("Not finished are %d of %d: %s. The call below goes on with them where the runs' folders are kept.", len(names), len(p.cards), strings.Join(names, "; "))
}

// writeOverview lists all cards in one table.
func (p *Page) writeOverview(text *strings.Builder) {
	text.WriteString("| stream | parameters | train FLOPs a token | entries a token | best rate | bits per byte | compared with the transformer |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range p.cards {
		rate, score := "not trained yet", "-"
		if best, ok := m.found.Best(); ok {
			rate, score = fmt.Sprintf("%g", best), shown(m.found.Mean(), "%.3f")
			if !m.found.Done {
				rate += " so far"
			}
		}
		fmt.Fprintf(text, "| [%s](#%s) | %.2fM | %.1fM | %d | %s | %s | %s |\n", m.Title, anchor(m.Title), float64(m.parameters)/1e6, float64(m.flops)/1e6,
			m.entries, rate, score, m.comparedWith(p.cards[0]))
	}
	text.WriteString("\n")
}

// comparedWith is the difference to the baseline's score.
func (m *measured) comparedWith(base *measured) string {
	if m == base || m.best == nil || base.best == nil {
		return "-"
	}
	difference := m.found.Mean().Minus(base.found.Mean())
	switch {
	case !m.found.Done || !base.found.Done:
		return shown(difference, "%+.3f") + ", not finished"
	case !difference.Certain():
		return shown(difference, "%+.3f") + ", within two standard errors"
	}
	return shown(difference, "%+.3f")
}

// shown writes an estimate with its standard error, where it has one.
func shown(e stats.Estimate, format string) string {
	if math.IsNaN(e.Error) {
		return fmt.Sprintf(format, e.Mean)
	}
	return fmt.Sprintf(format+" ± %.3f", e.Mean, e.Error)
}

// write writes a card; the speed of the others is compared with the transformer's.
func (m *measured) write(text *strings.Builder, baseline bool) {
	fmt.Fprintf(text, "## %s\n\n```\n%s\n```\n\n%s.\n\n%s\n\n", m.Title, m.Equation, m.Source, m.Use)
	fmt.Fprintf(text, "Preset `%s`: %.2fM parameters, %.1f MFLOP a token in training, %d entries of state a token.\n", m.Preset,
		float64(m.parameters)/1e6, float64(m.flops)/1e6, m.entries)
	fmt.Fprintf(text, "Validation, bits per byte: %s.\n\n", m.scores())
	next := ""
	if !baseline {
		m.writeSpeed(text)
		next = " compared with the transformer"
	}
	if m.best != nil {
		fmt.Fprintf(text, "![Training loss: %s%s](%s)\n\n", m.Title, next, m.curve())
	}
}

// writeSpeed writes what bench zoo measured.
func (m *measured) writeSpeed(text *strings.Builder) {
	text.WriteString("| model | shape | time a step | FLOPs a token | bytes moved a step | peak memory |\n|---|---|---:|---:|---:|---:|\n")
	for _, r := range m.speeds {
		fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n", r.Name, r.Shape, known(r.Time, "%.2fx"), known(r.FLOPs, "%.2fx"), known(r.Bytes, "%.2fx"), known(r.PeakMB, "%.0f MB"))
	}
	text.WriteString("\n")
}

// scores lists the score of each rate with the first seed, by rate, and of the best rate with the others.
func (m *measured) scores() string {
	best, ok := m.found.Best()
	if len(m.found.Trials) == 0 {
		return "not trained yet"
	}
	trials := slices.Clone(m.found.Trials)
	slices.SortStableFunc(trials, func(a, b search.Trial) int { return cmp.Compare(a.Rate, b.Rate) })
	var texts []string
	for _, t := range trials {
		score := fmt.Sprintf("%.3f", t.Score)
		switch {
		case math.IsNaN(t.Score):
			score = "diverged"
		case ok && t.Rate == best:
			score = "**" + score + "**"
		}
		if t.Seed != trials[0].Seed && t.Rate == best {
			texts[len(texts)-1] = strings.Replace(texts[len(texts)-1], " at ", " and "+score+" at ", 1)
			continue
		}
		texts = append(texts, fmt.Sprintf("%s at %g", score, t.Rate))
	}
	return strings.Join(texts, ", ")
}

// anchor is the name that Markdown pages give a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

// known writes a measured number, "-" for one that was not.
func known(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

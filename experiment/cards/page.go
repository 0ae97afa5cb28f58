package cards

import (
	"fmt"
	"strconv"
	"strings"
)

// Markdown is the page's text.
func (p *Page) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, `# Models

A card for each residual stream, all of quickstart's size: 4 blocks of width 256 on bytes, on the source of the Go
standard library. Every preset trained as configs/quickstart-transformer.yaml says, on the same %s tokens (batches of seed
%d) at the rates %s; shown is each one's best by validation loss. One seed, small models and few tokens: small differences mean little, and
an order here need not be the order at scale. Time, FLOPs and bytes moved are multiples of the plain transformer's of the
same shape, as `+"`go run ./cmd/bench -zoo`"+` measured them (-: not yet).

Written by `+"`%s`"+`; do not edit.

`, thousands(p.cards[0].Best.Tokens), p.options.Seed, joined(p.options.Rates), p.options.Command)
	p.writeOverview(&text)
	for i, m := range p.cards {
		m.write(&text, i == 0)
	}
	return text.String()
}

func joined(rates []float64) string {
	var texts []string
	for _, r := range rates {
		texts = append(texts, strconv.FormatFloat(r, 'g', -1, 64))
	}
	return strings.Join(texts, ", ")
}

// writeOverview lists all cards in one table.
func (p *Page) writeOverview(text *strings.Builder) {
	text.WriteString("| stream | parameters | train FLOPs a token | entries a token | best rate | bits per byte | next to the transformer |\n|---|---:|---:|---:|---:|---:|---:|\n")
	base := p.cards[0].Best.Bits
	for i, m := range p.cards {
		difference := "-"
		if i > 0 {
			difference = (m.Best.Bits - base).Text("%+.3f")
		}
		fmt.Fprintf(text, "| [%s](#%s) | %.2fM | %.1fM | %d | %g | %s | %s |\n", m.Title, anchor(m.Title), float64(m.Parameters)/1e6, float64(m.FLOPs)/1e6,
			m.entries, m.Best.Rate, m.Best.Bits.Text("%.3f"), difference)
	}
	text.WriteString("\n")
}

// write writes a card; the speed of the others is compared with the transformer's.
func (m measured) write(text *strings.Builder, baseline bool) {
	fmt.Fprintf(text, "## %s\n\n```\n%s\n```\n\n%s.\n\n%s\n\n", m.Title, m.Equation, m.Source, m.Use)
	fmt.Fprintf(text, "Preset `%s`: %.2fM parameters, %.1f MFLOP a token in training, %d entries of state a token.\n", m.Preset,
		float64(m.Parameters)/1e6, float64(m.FLOPs)/1e6, m.entries)
	fmt.Fprintf(text, "Validation, bits per byte:%s.\n\n", m.scores())
	next := ""
	if !baseline {
		m.writeSpeed(text)
		next = " next to the transformer"
	}
	fmt.Fprintf(text, "![Training loss: %s%s](%s)\n\n", m.Title, next, m.curve())
}

// writeSpeed writes what bench -zoo measured.
func (m measured) writeSpeed(text *strings.Builder) {
	text.WriteString("| model | shape | time a step | FLOPs a token | bytes moved a step | peak memory |\n|---|---|---:|---:|---:|---:|\n")
	for _, r := range m.speeds {
		fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n", r.Name, r.Shape, known(r.Time, "%.2fx"), known(r.FLOPs, "%.2fx"), known(r.Bytes, "%.2fx"), known(r.PeakMB, "%.0f MB"))
	}
	text.WriteString("\n")
}

// scores lists each rate's score.
func (m measured) scores() string {
	text := ""
	for i, run := range m.Runs {
		score := run.Bits.Text("%.3f")
		if !run.Bits.Finite() {
			score = "diverged"
		}
		if run == m.Best {
			score = "**" + score + "**"
		}
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s at %g", score, run.Rate)
	}
	return text
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

// thousands writes a count with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

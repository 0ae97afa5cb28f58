package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// page is the cards as Markdown.
func (a *album) page() string {
	var text strings.Builder
	fmt.Fprintf(&text, `# Models

A card for each residual stream, all of quickstart's size: 4 blocks of width 256 on bytes, on the source of the Go
standard library. Every preset trained as configs/quickstart-transformer.yaml says, on the same %s tokens (batches of seed
%d) at the rates %s; shown is each one's best by validation loss. One seed, small models and few tokens: small differences mean little, and
an order here need not be the order at scale. Time, FLOPs and bytes moved are multiples of the plain transformer's of the
same shape, as `+"`go run ./cmd/bench -zoo`"+` measured them (-: not yet).

Written by `+"`%s`"+`; do not edit.

`, thousands(a.plain().Best.Tokens), a.seed, a.rateText(), a.command())
	a.writeOverview(&text)
	for i, m := range a.cards {
		m.write(&text, i == 0)
	}
	return text.String()
}

// command is the call that writes the page again.
func (a *album) command() string {
	command := fmt.Sprintf("go run ./cmd/compare -cards %s -tokens %d -lr %s", filepath.ToSlash(a.file), a.tokens, strings.ReplaceAll(a.rateText(), ", ", ","))
	if a.seed != 0 {
		command += fmt.Sprintf(" -seed %d", a.seed)
	}
	if plain := a.plain().preset; plain != plainPreset {
		command += " -plain " + plain
	}
	for _, set := range a.sets {
		command += " -set " + set
	}
	return command
}

func (a *album) rateText() string {
	var texts []string
	for _, r := range a.rates {
		texts = append(texts, strconv.FormatFloat(r, 'g', -1, 64))
	}
	return strings.Join(texts, ", ")
}

// writeOverview lists all cards in one table.
func (a *album) writeOverview(text *strings.Builder) {
	text.WriteString("| stream | parameters | train FLOPs a token | entries a token | best rate | bits per byte | next to the transformer |\n|---|---:|---:|---:|---:|---:|---:|\n")
	base := a.plain().Best.Bits
	for i, m := range a.cards {
		difference := "-"
		if i > 0 {
			difference = (m.Best.Bits - base).text("%+.3f")
		}
		fmt.Fprintf(text, "| [%s](#%s) | %.2fM | %.1fM | %d | %g | %s | %s |\n", m.Title, anchor(m.Title), float64(m.Parameters)/1e6, float64(m.FLOPs)/1e6,
			m.entries, m.Best.Rate, m.Best.Bits.text("%.3f"), difference)
	}
	text.WriteString("\n")
}

// write writes a card; all numbers but the plain transformer's are compared with its.
func (m measured) write(text *strings.Builder, plain bool) {
	fmt.Fprintf(text, "## %s\n\n```\n%s\n```\n\n%s.\n\n%s\n\n", m.Title, m.Equation, m.Source, m.Use)
	fmt.Fprintf(text, "Preset `%s`: %.2fM parameters, %.1f MFLOP a token in training, %d entries of state a token.\n", m.preset,
		float64(m.Parameters)/1e6, float64(m.FLOPs)/1e6, m.entries)
	fmt.Fprintf(text, "Validation, bits per byte:%s.\n\n", m.scores())
	next := ""
	if !plain {
		m.writeSpeed(text)
		next = " next to the transformer"
	}
	fmt.Fprintf(text, "![Training loss: %s%s](%s)\n\n", m.Title, next, curveOf(m.card))
}

// writeSpeed writes what bench -zoo measured.
func (m measured) writeSpeed(text *strings.Builder) {
	text.WriteString("| model | shape | time a step | FLOPs a token | bytes moved a step | peak memory |\n|---|---|---:|---:|---:|---:|\n")
	for _, r := range m.rows {
		fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n", r.Name, r.Shape, share(r.RelativeTime), share(r.RelativeFLOPs), share(r.RelativeBytes), megabytes(r.PeakMB))
	}
	text.WriteString("\n")
}

// scores lists each rate's score.
func (m measured) scores() string {
	text := ""
	for i, run := range m.Runs {
		score := run.Bits.text("%.3f")
		if !run.Bits.finite() {
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

// share writes a number relative to the transformer's, "-" for none.
func share(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2fx", *v)
}

func megabytes(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f MB", *v)
}

// thousands writes a count with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Package report writes up what an analysis of a trained model found, for the commands analyze (the
// command report is about runs: cli/report): tables for a terminal, a JSON document, or a folder
// with a page that opens offline, its figures and its tables.
//
// Each analysis is a struct of its settings, such as Lens, which Run runs on a Model; most are
// ready as their zero value.
package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
)

// Report holds what an analysis found. Its exported fields are also the JSON document.
type Report struct {
	Analysis   string         `json:"analysis"`
	Checkpoint string         `json:"checkpoint,omitempty"`
	Stream     string         `json:"stream,omitempty"`
	Tokens     []Token        `json:"tokens,omitempty"`
	Corrupt    []Token        `json:"corrupt_tokens,omitempty"` // of the prompt that is patched into
	Results    map[string]any `json:"results"`                  // by the name of their part

	Title string `json:"-"` // of the page
	About string `json:"-"` // a line: what was looked at
	Parts []Part `json:"-"`

	files []file
	err   error // of the first analysis that failed
}

// file is a further file of a report's folder.
type file struct {
	name  string
	write func(path string) error
}

// Token is a token of a prompt.
type Token struct {
	Position int    `json:"position"`
	ID       int    `json:"id"`
	Text     string `json:"text"`
}

// Part is one result of a report.
type Part struct {
	Name    string // of its files, and in the JSON document: "map"
	Heading string
	Text    string // paragraphs of the page: what is seen
	Table   figure.Table
	Brief   *figure.Table // what a terminal shows instead of the table; nil: the table
	Figures []figure.Figure
}

// Result is the result of an analysis; most have figures, too.
type Result interface{ Table() figure.Table }

// New begins a report.
func New(title, about string) *Report {
	return &Report{Title: title, About: about, Results: map[string]any{}}
}

// NewReport begins the report of an analysis of the model, and of a prompt unless it is nil.
func (m *Model) NewReport(title string, ids []int32) *Report {
	r := New(title, m.about())
	r.Checkpoint, r.Stream, r.Tokens = m.Name, m.Spec.Stream.Name(), m.tokens(ids)
	if len(ids) > m.Spec.Seq {
		r.About += fmt.Sprintf("; the prompt has %d tokens, more than the %d of the rows that the model was trained on: positions after those are new to it",
			len(ids), m.Spec.Seq)
	}
	return r
}

// Add appends a result and returns its part.
func (r *Report) Add(name, heading, text string, of Result) *Part {
	r.Results[name] = of
	p := Part{Name: name, Heading: heading, Text: text, Table: of.Table()}
	if drawn, ok := of.(interface{ Figures() []figure.Figure }); ok {
		p.Figures = drawn.Figures()
	}
	r.Parts = append(r.Parts, p)
	return &r.Parts[len(r.Parts)-1]
}

// part returns a function that adds what an analysis returns, as in
//
//	r.part("keys", "The model's keys", "…")(memory.MeasureKeys(store, spec, seed))
//
// and an empty part if it failed: the report then keeps the first error.
func (r *Report) part(name, heading, text string) func(Result, error) *Part {
	return func(of Result, err error) *Part {
		r.err = cmp.Or(r.err, err)
		if r.err != nil {
			return &Part{}
		}
		return r.Add(name, heading, text, of)
	}
}

// String returns the report as a terminal shows it.
func (r *Report) String() string {
	text := r.Subtitle() + "\n"
	for _, p := range r.Parts {
		table := p.Table
		if p.Brief != nil {
			table = *p.Brief
		}
		text += "\n" + table.Text()
	}
	return text
}

// Subtitle says what was looked at, with the tokens of the prompts.
func (r *Report) Subtitle() string {
	text := r.About
	if len(r.Tokens) > 0 {
		text += fmt.Sprintf(". %s: %s", tokenCount(len(r.Tokens)), spell(r.Tokens))
	}
	if len(r.Corrupt) > 0 {
		text += ". Corrupt prompt: " + spell(r.Corrupt)
	}
	return text
}

// spell writes out the first tokens of a prompt.
func spell(tokens []Token) string {
	const shown = 64
	var words []string
	for _, t := range tokens[:min(shown, len(tokens))] {
		words = append(words, t.Text)
	}
	if len(tokens) > shown {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

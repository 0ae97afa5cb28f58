package analyze

import (
	"github.com/residua-go/residua/figure"
)

// report is what a command found. It is also the JSON document.
type report struct {
	Analysis   string         `json:"analysis"`
	Checkpoint string         `json:"checkpoint,omitempty"`
	Stream     string         `json:"stream,omitempty"`
	Tokens     []token        `json:"tokens,omitempty"`
	Corrupt    []token        `json:"corrupt_tokens,omitempty"` // of the other prompt
	Results    map[string]any `json:"results"`                  // by the name of their part

	title string // of the page
	about string // a line: what was looked at
	parts []part
}

// token is a token of a prompt.
type token struct {
	Position int    `json:"position"`
	ID       int    `json:"id"`
	Text     string `json:"text"`
}

// part is one result.
type part struct {
	name    string // of its files, and in the JSON document: "map"
	heading string
	text    string // paragraphs of the page: what is seen
	table   figure.Table
	brief   *figure.Table // what a terminal shows in the table's place; nil: the table
	figures []figure.Figure
}

// result is what every analysis gives.
type result interface {
	Table() figure.Table
	Figures() []figure.Figure
}

// newReport begins a report.
func newReport(title, about string) *report {
	return &report{title: title, about: about, Results: map[string]any{}}
}

// reportOn begins a report on a model, and on a prompt unless it is nil.
func reportOn(s *subject, title string, ids []int32) *report {
	r := newReport(title, s.about())
	r.Tokens = s.tokens(ids)
	return r
}

// add appends a result and returns its part.
func (r *report) add(name, heading, text string, of result) *part {
	r.Results[name] = of
	r.parts = append(r.parts, part{name: name, heading: heading, text: text, table: of.Table(), figures: of.Figures()})
	return &r.parts[len(r.parts)-1]
}

// Package page writes figures as one self-contained HTML page: it opens offline, and its figures
// answer the mouse and the keyboard.
//
// The page holds all it needs: the figures' data as JSON, our script and style sheet. Its content
// security policy (W3C, Content Security Policy Level 3) forbids every request.
package page

import (
	"bytes"
	"html/template"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
)

// Page is a page of figures.
type Page struct {
	Title    string
	Subtitle string
	Sections []Section
}

// Section is a part of a page: text, then figures.
type Section struct {
	Heading string
	Text    string // paragraphs, apart by an empty line
	Figures []figure.Figure
	// Passages are texts to read as they are written, below the figures; all but the first are
	// folded.
	Passages []Passage
}

// Passage is a text whose line breaks and spaces are shown.
type Passage struct {
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// HTML returns the page: the same figures give the same bytes. Texts are escaped. It is an error
// if there is nothing on the page, or if figure.Check refuses a figure.
func (p Page) HTML() ([]byte, error) {
	v, err := p.view()
	if err != nil {
		return nil, err
	}
	outline, err := template.ParseFS(web, "web/page.html")
	if err != nil {
		return nil, errors.Wrap(err, "page")
	}
	var html bytes.Buffer
	err = outline.Execute(&html, v)
	return html.Bytes(), errors.Wrap(err, "page")
}

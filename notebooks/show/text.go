package show

import (
	"strings"
	"text/template"

	"github.com/residua-go/residua/figure"
)

// Table shows a table as HTML or, if that cannot be displayed, as lines of text.
func Table(t figure.Table) Output {
	var html strings.Builder
	outline, err := template.New("table").Parse(tableHTML)
	Check(err)
	Check(outline.Execute(&html, t))
	return output(t.Title, t.Text(), "text/html", html.String())
}

// Markdown shows text in Markdown, which may have formulas in $...$.
func Markdown(text string) Output { return output(text, text, "text/markdown", text) }

// tableHTML writes a table with its title as the caption and its note below.
const tableHTML = `<table>
{{with .Title}}<caption>{{html .}}</caption>
{{end}}{{if .Header}}<tr>{{range $c, $text := .Header}}<th style="text-align: {{if $.Right $c}}right{{else}}left{{end}}">{{html $text}}</th>{{end}}</tr>
{{end}}{{range .Rows}}<tr>{{range $c, $text := .}}<td style="text-align: {{if $.Right $c}}right{{else}}left{{end}}">{{html $text}}</td>{{end}}</tr>
{{end}}</table>
{{with .Note}}<p>{{html .}}</p>
{{end}}`

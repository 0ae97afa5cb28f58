package show

import (
	"fmt"
	"html"
	"strings"

	"github.com/residua-go/residua/figure"
)

// Table shows a table as HTML or, if that cannot be displayed, as lines of text.
func Table(t figure.Table) Output {
	return output(t.Title, t.Text(), "text/html", tableHTML(t))
}

// Markdown shows text in Markdown, which may have formulas in $...$.
func Markdown(text string) Output { return output(text, text, "text/markdown", text) }

// tableHTML writes a table as HTML, with its title as the caption and its note below.
func tableHTML(t figure.Table) string {
	var b strings.Builder
	b.WriteString("<table>\n")
	if t.Title != "" {
		fmt.Fprintf(&b, "<caption>%s</caption>\n", html.EscapeString(t.Title))
	}
	if len(t.Header) > 0 {
		writeRow(&b, "th", t.Header, t.Align)
	}
	for _, row := range t.Rows {
		writeRow(&b, "td", row, t.Align)
	}
	b.WriteString("</table>\n")
	if t.Note != "" {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(t.Note))
	}
	return b.String()
}

func writeRow(b *strings.Builder, element string, cells []string, align string) {
	b.WriteString("<tr>")
	for i, cell := range cells {
		side := "left"
		if i < len(align) && align[i] == 'r' {
			side = "right"
		}
		fmt.Fprintf(b, `<%s style="text-align: %s">%s</%s>`, element, side, html.EscapeString(cell), element)
	}
	b.WriteString("</tr>\n")
}

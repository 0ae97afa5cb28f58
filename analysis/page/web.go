package page

import (
	"embed"
	"html/template"
	"strings"

	"github.com/pkg/errors"
)

// web is the page's outline, style sheet and script.
//
//go:embed web
var web embed.FS

// scripts are the script's parts, in order: page.js uses the others.
var scripts = [...]string{"number.js", "svg.js", "axis.js", "tooltip.js", "heatmap.js", "lines.js", "bars.js", "attention.js", "wiring.js", "page.js"}

// outline is the page's template.
func outline() (*template.Template, error) {
	t, err := template.ParseFS(web, "web/page.html")
	return t, errors.Wrap(err, "page: outline")
}

// style is the style sheet.
func style() (template.CSS, error) {
	css, err := web.ReadFile("web/page.css")
	return template.CSS(css), errors.Wrap(err, "page: style sheet")
}

// script is the script's parts as one, in a scope of its own.
func script() (template.JS, error) {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		part, err := web.ReadFile("web/" + name)
		if err != nil {
			return "", errors.Wrap(err, "page: script")
		}
		all.Write(part)
	}
	all.WriteString("})();\n")
	return template.JS(all.String()), nil
}

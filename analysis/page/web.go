package page

import (
	"embed"
	"html/template"
	"strings"
)

// web is the page's outline and the parts of its script.
//
//go:embed web/*.html web/*.js
var web embed.FS

// style is the style sheet.
//
//go:embed web/page.css
var style template.CSS

// own is the script of a page whose figures stand in it.
//
//go:embed web/page.js
var own string

// library is the parts of the script that draw figures, in order: drawings.js uses the others.
var library = [...]string{"number.js", "svg.js", "axis.js", "tooltip.js", "heatmap.js", "lines.js", "bars.js", "attention.js", "wiring.js", "drawings.js"}

// Library lets a page of another package draw figures. Its template needs Style in a style element,
// an element #tooltip, Palette in an element #palette of type application/json, as in
// web/page.html, and Script.
type Library struct {
	Style   template.CSS
	Script  template.JS // strict, in a scope of its own; drawings.heatmap(figure, data) and the like draw
	Palette any
}

// NewLibrary makes a Library whose Script ends with a page's own, which uses it.
func NewLibrary(own string) Library { return Library{style, script(own), colours()} }

// script joins the library's parts and a page's own script in one scope.
func script(own string) template.JS {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range library {
		part, _ := web.ReadFile("web/" + name) // embedded above
		all.Write(part)
	}
	all.WriteString(own + "})();\n")
	return template.JS(all.String())
}

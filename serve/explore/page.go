package explore

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/page"
)

// web holds the page's markup and scripts.
//
//go:embed web/*.html web/*.js
var web embed.FS

// style is the page's own style sheet, which follows that of figures.
//
//go:embed web/explorer.css
var style template.CSS

// scripts lists the parts of the page's script, in order; they follow those that draw figures.
var scripts = [...]string{"api.js", "changes.js", "tokens.js", "details.js", "address.js", "analyses.js", "explorer.js"}

// policy lets the page send requests to its own server only.
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// Page returns the handler of the page, a single document that calls the API at /explorer/.
func (e *Explorer) Page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			fail(w, &statusError{http.StatusNotFound, "nothing is at " + r.URL.Path})
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", http.MethodGet)
			fail(w, &statusError{http.StatusMethodNotAllowed, "want GET /, got " + r.Method})
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		w.Write(e.html)
	})
}

// document builds the page.
func document() ([]byte, error) {
	var own strings.Builder
	for _, name := range scripts {
		part, err := web.ReadFile("web/" + name)
		if err != nil {
			return nil, errors.Wrap(err, "explore: script")
		}
		own.Write(part)
	}
	library := page.NewLibrary(own.String())
	outline, err := template.ParseFS(web, "web/explorer.html")
	if err != nil {
		return nil, errors.Wrap(err, "explore: outline")
	}
	library.Style += style
	var html bytes.Buffer
	err = outline.Execute(&html, library)
	return html.Bytes(), errors.Wrap(err, "explore: page")
}

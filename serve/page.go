package serve

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

// page answers GET / with a page that says what is served. It needs no token and shows only the
// models' names.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return t.Execute(w, struct {
		Models []Model
		Host   string
	}{s.models, r.Host})
}

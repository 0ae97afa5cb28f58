package explore

import (
	"context"
	"net/http"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/pretrained"
)

// Listed is an analysis that suits the model, from package report or from the zoo with which the
// model was opened.
type Listed struct {
	Name     string         `json:"name"`
	Summary  string         `json:"summary"`
	Notes    string         `json:"notes,omitempty"`
	Settings []settings.Key `json:"settings"` // keys of a request, without those that are local
}

// Analysed is the result of an analysis, in the form of analyze -json, and its rendering for the
// page.
type Analysed struct {
	*report.Report
	Title    string         `json:"title"`
	About    string         `json:"about"`
	Sections []page.Section `json:"sections"`
}

// listAnalyses prepares the analyses of the model.
func (e *Explorer) listAnalyses(m *pretrained.Model) (err error) {
	if e.model, err = report.Of(m); err != nil {
		return err
	}
	e.tokenizer, e.model.Name, e.model.Tokens = e.model.Tokenizer, e.options.Name, e.options.Tokens
	if e.analyses, err = report.Analyses(m.Zoo); err != nil {
		return err
	}
	for _, a := range report.Supported(e.analyses, m.Spec) {
		keys, err := settings.Keys(nil, a)
		if err != nil {
			return err
		}
		card := a.Card()
		e.listed = append(e.listed, Listed{a.Name(), card.Summary, card.Notes, keys})
	}
	return nil
}

// analysis answers with an analysis; the request's body sets its settings.
func (e *Explorer) analysis(a report.Analysis) http.Handler {
	return answering(http.MethodPost, func(w http.ResponseWriter, r *http.Request) error {
		asked := settings.Settable(a)
		if err := settings.SetDefaults(asked); err != nil {
			return err
		}
		if err := e.read(w, r, asked); err != nil {
			return err
		}
		var found *report.Report
		err := e.use(r.Context(), func(ctx context.Context) (err error) {
			found, err = report.Run(ctx, e.model, asked)
			return err
		})
		if err != nil {
			return err
		}
		return write(w, Analysed{found, found.Title, found.Subtitle(), found.Sections()})
	})
}

package report

import (
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/cache"
)

// onlyWhereMixed is the note on the prompt of an analysis of weights.
const onlyWhereMixed = "A prompt matters only in streams that mix what was written."

// onWeights begins the report of an analysis of weights. If the stream mixes what was written with
// coefficients that depend on a run, it returns a run on the prompt; it returns nil if no run is
// needed, or if a model without tokenizer was given no ids. The report says which.
func (m *Model) onWeights(title string, prompt Prompt) (*Report, *cache.Cache, error) {
	mixes := m.mixes()
	if !prompt.given() && (m.Tokenizer == nil || !mixes) {
		r := m.NewReport(title, nil)
		if mixes {
			r.About += "; what is written is carried on as in a plain residual stream, since no prompt was given"
		}
		return r, nil, nil
	}
	ids, err := prompt.Read(m, 1)
	if err != nil {
		return nil, nil, err
	}
	if !mixes {
		return m.NewReport(title, nil), nil, nil
	}
	run, err := analysis.Run(m.Store, m.Spec, ids)
	if err != nil {
		return nil, nil, err
	}
	r := m.NewReport(title, ids)
	r.About += fmt.Sprintf("; what is written is carried on by the means of the coefficients over the prompt's %d tokens", run.Tokens())
	return r, run, nil
}

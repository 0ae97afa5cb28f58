package report

import (
	"github.com/residua-go/residua/analysis"
)

// PathsOptions say on what text a model's loss is expanded in paths.
type PathsOptions struct {
	Prompt
	Prompts []string // in the place of Prompt: averages over them
	OverRows
	analysis.PathOptions
}

// Paths reports what the paths through a model's sublayers take off its loss.
func Paths(m *Model, o PathsOptions) (*Report, error) {
	rows, one, err := m.read(o.Prompt, o.Prompts, o.Rows)
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisPaths, "Path expansion", one)
	r.part("paths", "Paths by their length",
		"With the patterns of attention held, a model is a sum over paths through its sublayers. Order by order the longer ones are let in: how far the loss falls is what they are worth (Elhage et al. 2021).")(analysis.MeasurePaths(m.Store, m.Spec, rows, o.PathOptions))
	return r, r.err
}

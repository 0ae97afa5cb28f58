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
	rows, err := m.texts(o.Prompt, o.Prompts, o.Rows, 2)
	if err != nil {
		return nil, err
	}
	var one []int32
	if rows == nil {
		if one, err = o.Prompt.read(m, 2, false); err != nil {
			return nil, err
		}
		rows = [][]int32{one}
	}
	paths, err := analysis.MeasurePaths(m.Store, m.Spec, rows, o.PathOptions)
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisPaths, "Path expansion", one)
	r.Add("paths", "Paths by their length",
		"With the patterns of attention held, a model is a sum over paths through its sublayers. Order by order the longer ones are let in: how far the loss falls is what they are worth (Elhage et al. 2021).", paths)
	return r, nil
}

package report

import (
	"context"

	"github.com/residua-go/residua/analysis"
)

// Paths measures how much of a model's loss the paths through its sublayers remove, on some text.
type Paths struct {
	Prompt
	OverRows
	analysis.PathOptions
	Prompts Prompts `yaml:"prompts" help:"average over the prompts of <FILE>, each line's text; of a .jsonl, each line's string, or its object's \"prompt\""`
}

// Name is paths.
func (Paths) Name() string { return "paths" }

// Card describes Paths.
func (Paths) Card() Card {
	return Card{
		Summary: "what the paths through 0, 1, 2, ... sublayers take off the loss, attention patterns held",
		Example: `
			analyze paths -checkpoint runs/attention-only -rows 16
			analyze paths -checkpoint runs/attention-only -rows 4 -heads -out /tmp/paths`,
		Notes: `
			The term importance analysis of Elhage et al. 2021: the model runs with its patterns of
			attention held and all sublayers' outputs 0, then with those that this run would have
			made, and so on. In a model of two layers of attention alone (-config attention-only) two
			steps are the virtual heads.`,
	}
}

// Run reports how much of a model's loss the paths through its sublayers remove.
func (o Paths) Run(ctx context.Context, m *Model) (*Report, error) {
	rows, one, err := m.read(ctx, o.Prompt, o.Prompts, o.Rows)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Path expansion", one)
	r.part("paths", "Paths by their length",
		"With the patterns of attention held, a model is a sum over paths through its sublayers. Order by order, longer paths are added: how far the loss "+
			"falls is what they are worth (Elhage et al. 2021).")(analysis.MeasurePaths(ctx, m.Store, m.Spec, rows, o.PathOptions))
	return r, r.err
}

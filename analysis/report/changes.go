package report

import (
	"cmp"
	"context"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Changes measures how far a model's weights are from those of another, from which it was
// fine-tuned.
type Changes struct {
	From string `yaml:"from" local:"true" help:"compare with the model of <PATH>; without, one with adapters is compared with their base, another with its start"`
	Seed uint64 `yaml:"seed" default:"1" help:"compare with the start that seed <N> draws; give the run's seed"`
}

// Name is changes.
func (Changes) Name() string { return "changes" }

// Card describes Changes.
func (Changes) Card() Card {
	return Card{
		Summary: "what has fine-tuning changed? which weights of which blocks, and how far",
		Example: `
			analyze changes -checkpoint runs/answers                       # adapters and their base
			analyze changes -checkpoint runs/longer -from runs/quickstart  # a run that started from another
			analyze changes -checkpoint runs/quickstart -seed 0            # a run and its own start`,
		Notes: `
			Norms are Frobenius norms of whole parameters; the share is the norm of the change over that
			of the weight before it.`,
	}
}

// Run compares the weights.
func (o Changes) Run(_ context.Context, m *Model) (*Report, error) {
	before := graph.NewStore(m.Store.DType(), o.Seed)
	if from := cmp.Or(o.From, m.Base); from != "" {
		base, err := pretrained.Open(from, m.Zoo)
		if err != nil {
			return nil, err
		}
		before = base.Store
	} else if _, err := models.New(gorgonia.NewGraph(), m.Spec, graph.Options{Store: before}); err != nil {
		return nil, err
	}
	r := m.NewReport("What has changed?", nil)
	const note = "How far each weight is from what it was before, as a number and as a share of its size."
	r.part("changes", "Weights and their changes", note)(analysis.Compare(before, m.Store))
	return r, r.err
}

// Package compare trains language models on the same text for the same budget and compares them, or
// compares runs that have been trained before.
package compare

import (
	"context"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
)

// Model is how a model did at each learning rate.
type Model struct {
	Name       string               `json:"model"`
	Config     string               `json:"config"` // its file
	Parameters int                  `json:"parameters"`
	FLOPs      int                  `json:"train_flops"` // a token, forward and backward
	Best       *experiment.Result   `json:"best"`        // the run of the lowest validation loss
	Runs       []*experiment.Result `json:"runs"`
}

func newModel(name, file string, run *config.Run) Model {
	cost := run.Spec().Cost()
	return Model{Name: name, Config: file, Parameters: cost.Parameters, FLOPs: cost.TrainFLOPs()}
}

func (m *Model) add(r *experiment.Result) {
	m.Runs = append(m.Runs, r)
	if m.Best == nil || r.Better(m.Best) {
		m.Best = r
	}
}

// Train makes all runs. One that is complete in its folder is read, not repeated, and one that was cut
// short goes on from its checkpoint. A run that diverges is no error. What is wrong with a run before
// it begins is a *experiment.SetupError.
func Train(ctx context.Context, trainings []Training, log experiment.Log) ([]Model, error) {
	var all []Model
	for _, t := range trainings {
		m := newModel(t.Name, t.Config, t.Runs[0])
		for _, run := range t.Runs {
			r, err := experiment.Complete(ctx, run, log)
			if err != nil {
				return nil, err
			}
			m.add(r)
		}
		all = append(all, m)
	}
	return all, nil
}

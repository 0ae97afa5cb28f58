package mup

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/learner"
	"github.com/residua-go/residua/models"
)

// newLearner trains a model in memory on batches of the text, or on the first one alone. Hooks keep
// activations, and with them the logits.
func newLearner(t trial, text *data.Corpus, first bool, hooks []string) (*learner.Learner, error) {
	batcher, err := data.NewBatcher(text.Train.Tokens, t.Train.Batch, t.model.Seq, t.Seed)
	if err != nil {
		return nil, err
	}
	parts, err := t.Optimizer()
	if err != nil {
		return nil, err
	}
	kept := graph.Hooks{}
	for _, name := range hooks {
		kept[name] = nil
	}
	next := func(tokens, targets []int32) error {
		if first {
			batcher.Seek(0)
		}
		return batcher.Next(tokens, targets)
	}
	return learner.New(t.model, learner.BatchFunc(next), learner.Options{
		Batch: t.Train.Batch, Outputs: models.Outputs{Auxiliary: t.Auxiliary(), Logits: len(hooks) > 0}, Optimizer: parts,
		Compute: graph.Options{Store: graph.NewStore(tensor.Float32, t.Seed), Threads: t.Device.Threads, Seed: t.Seed, Hooks: kept},
	})
}

// activation returns the values of a hook, or of the logits, in the last Gradient.
func activation(l *learner.Learner, name string) ([]float64, error) {
	if name != logitsName {
		x, err := l.Program().Hooked(name)
		if err != nil {
			return nil, err
		}
		return graph.Float64s(x), nil
	}
	x, ok := l.Program().Logits.Value().(*tensor.Dense)
	if !ok {
		return nil, errors.New("logits: want their values, got none: run the model first")
	}
	return graph.Float64s(x), nil
}

package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/learner"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer"
)

// Activation is the size of one activation: of x_t after t steps, and of what they changed, x_t - x_0.
type Activation struct {
	Name   string         `json:"name"`
	Size   trainer.Number `json:"mean_abs"`        // mean |x_t|
	Change trainer.Number `json:"mean_abs_change"` // mean |x_t - x_0|
}

// logitsName names the logits among the activations.
const logitsName = "logits"

// activationNames lists what is measured: the stream after the embedding and after each site, what
// each sublayer computes, and the features and logits.
func activationNames(s models.Spec) []string {
	names := []string{"embedding.out"}
	parts := map[stream.Sublayer][]string{stream.Attention: {"qkv", "heads"}, stream.FeedForward: {"out", "stream"}}
	for l := range s.Layers {
		for _, kind := range s.Shape().Sublayers {
			for _, part := range parts[kind] {
				names = append(names, fmt.Sprintf("blocks.%d.%s.%s", l, kind, part))
			}
		}
	}
	return append(names, "features", logitsName)
}

// measure trains a model in memory on one batch, and records its activations.
func (Coordinates) measure(ctx context.Context, run *config.Run, text *data.Corpus, r *Record) error {
	names := activationNames(run.Spec())
	l, err := newLearner(run, text, names)
	if err != nil {
		return Setup(err)
	}
	defer l.Close()
	before, err := activations(ctx, l, names)
	if err != nil {
		return err
	}
	err = l.Train(ctx, run.TotalSteps(), func(s learner.Step) error {
		if !s.Finite {
			return errors.Errorf("%s, step %d: want a finite gradient, got one that is not: lower the learning rate", run.Name, s.N)
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err := activations(ctx, l, names)
	for i, name := range names[:len(after)] {
		size, change := meanSizes(before[i], after[i])
		r.Activations = append(r.Activations, Activation{name, size, change})
	}
	r.Tokens = int64(run.TotalSteps()) * int64(run.StepTokens())
	return err
}

// meanSizes are the mean |x| after training and the mean of what it changed.
func meanSizes(before, after []float64) (size, change trainer.Number) {
	for i, v := range after {
		size += trainer.Number(math.Abs(v) / float64(len(after)))
		change += trainer.Number(math.Abs(v-before[i]) / float64(len(after)))
	}
	return size, change
}

// newLearner trains a run's model in memory on the first batch of the text, and keeps activations.
func newLearner(run *config.Run, text *data.Corpus, names []string) (*learner.Learner, error) {
	if err := text.Check(run.Train.Batch, run.Model.Seq); err != nil {
		return nil, err
	}
	batcher, err := data.NewBatcher(text.Train.Tokens, run.Train.Batch, run.Model.Seq, run.Seed)
	if err != nil {
		return nil, err
	}
	parts, err := run.Optimizer()
	if err != nil {
		return nil, err
	}
	kept := graph.Hooks{}
	for _, name := range names[:len(names)-1] { // the logits are an output
		kept[name] = nil
	}
	first := func(tokens, targets []int32) error {
		batcher.Seek(0)
		return batcher.Next(tokens, targets)
	}
	return learner.New(run.Spec(), learner.BatchFunc(first), learner.Options{
		Batch: run.Train.Batch, Outputs: models.Outputs{Auxiliary: run.Auxiliary(), Logits: true}, Optimizer: parts,
		Compute: graph.Options{Store: graph.NewStore(tensor.Float32, run.Seed), Threads: run.Device.Threads, Seed: run.Seed, Hooks: kept},
	})
}

// activations runs the model on the batch and returns its activations.
func activations(ctx context.Context, l *learner.Learner, names []string) ([][]float64, error) {
	if _, err := l.Gradient(ctx); err != nil {
		return nil, err
	}
	var all [][]float64
	for _, name := range names {
		x, isDense := l.Program().Logits.Value().(*tensor.Dense)
		if name != logitsName {
			hooked, err := l.Program().Hooked(name)
			if err != nil {
				return nil, err
			}
			all = append(all, slices.Clone(graph.Float64s(hooked))) // the next batch overwrites them
			continue
		}
		if !isDense {
			return nil, errors.New("logits: want their values, got none")
		}
		all = append(all, slices.Clone(graph.Float64s(x)))
	}
	return all, nil
}

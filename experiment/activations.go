package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

// Activation holds the mean sizes of an activation x_t after t steps, and of its change x_t - x_0.
type Activation struct {
	Name   string      `json:"name"`
	Size   eval.Number `json:"mean_abs"`        // mean |x_t|
	Change eval.Number `json:"mean_abs_change"` // mean |x_t - x_0|
}

// logitsName is the name of the logits among the activations.
const logitsName = "logits"

// activationNames lists the activations to measure: the embedding, the queries, keys and
// values (qkv) and the heads of each attention, the output of each feed-forward and the stream
// after it, and the features and logits.
func activationNames(s models.Spec) []string {
	names := []string{"embedding.out"}
	parts := map[stream.Sublayer][]string{stream.Attention: {"qkv", "heads"}, stream.FeedForward: {"out", "stream"}}
	for l := range s.Depth() {
		for _, kind := range s.Shape().Sublayers {
			for _, part := range parts[kind] {
				names = append(names, fmt.Sprintf("blocks.%d.%s.%s", l, kind, part))
			}
		}
	}
	return append(names, "features", logitsName)
}

// Measure trains a model in memory on one batch and records its activations.
func (Coordinates) Measure(ctx context.Context, run *runconfig.Run, text *data.Corpus, r *Record) error {
	batch, err := firstBatch(run, text)
	if err != nil {
		return setupError(err)
	}
	names, hooks := activationNames(run.Spec()), graph.Hooks{}
	for _, name := range names[:len(names)-1] { // the logits are an output of the program
		hooks[name] = nil
	}
	l, err := newLearner(ctx, run, batch, hooks)
	if err != nil {
		return err
	}
	defer l.Close()
	before, err := activations(ctx, l, names)
	if err == nil {
		err = l.Train(ctx, run.TotalSteps(), func(s learner.Step) error {
			if !s.Finite {
				return errors.Errorf("%s, step %d: want a finite gradient, got one that is not: lower the learning rate", run.Name, s.N)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	after, err := activations(ctx, l, names)
	for i := range after {
		size, change := meanSizes(before[i], after[i])
		r.Activations = append(r.Activations, Activation{names[i], size, change})
	}
	r.Tokens = int64(run.TotalSteps()) * int64(run.StepTokens())
	return err
}

// firstBatch returns batches that all equal a run's first batch.
func firstBatch(run *runconfig.Run, text *data.Corpus) (learner.BatchFunc, error) {
	batcher, err := data.NewBatcher(text.Train.Tokens, run.Train.Batch, run.Model.Seq, run.Seed)
	return func(tokens, targets []int32) error {
		batcher.Seek(0)
		return batcher.Next(tokens, targets)
	}, err
}

// meanSizes returns the mean of |after| and of |after - before|.
func meanSizes(before, after []float64) (size, change eval.Number) {
	for i, v := range after {
		size += eval.Number(math.Abs(v) / float64(len(after)))
		change += eval.Number(math.Abs(v-before[i]) / float64(len(after)))
	}
	return size, change
}

// activations runs the model on the batch and returns its activations.
func activations(ctx context.Context, l *learner.Learner, names []string) ([][]float64, error) {
	if _, err := l.Gradient(ctx); err != nil {
		return nil, err
	}
	var all [][]float64
	for _, name := range names {
		x, err := l.Program().Hooked(name)
		if name == logitsName {
			x, err = graph.Value(l.Program().Logits)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.Clone(graph.Float64s(x))) // cloned, because the next batch overwrites them
	}
	return all, nil
}

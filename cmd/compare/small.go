package main

import (
	"context"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer"
)

// small trains a small model in memory, without a run's folder, and lets its activations
// be seen.
type small struct {
	program  *models.Compiled
	optimize *optim.Optimizer
	batches  *data.Batcher
	fixed    bool // every step sees the first batch
	steps    int
}

// newSmall compiles a model as trainer does, with hooks that keep activations.
func newSmall(t trial, corpus *data.Corpus, hooks []string) (*small, error) {
	s, kept := &small{}, graph.Hooks{}
	for _, name := range hooks {
		kept[name] = nil
	}
	var err error
	store := graph.NewStore(tensor.Float32, t.Seed)
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Store: store, Threads: t.Device.Threads, Training: true, Seed: t.Seed, Hooks: kept}}
	want := models.Outputs{Loss: true, Auxiliary: t.Auxiliary(), Logits: len(hooks) > 0}
	if s.program, err = models.Compile(t.model, t.Train.Batch, t.model.Seq, want, o); err != nil {
		return nil, err
	}
	if s.optimize, err = trainer.NewOptimizer(store, t.Run); err == nil {
		s.batches, err = data.NewBatcher(corpus.Train.Tokens, t.Train.Batch, t.model.Seq, t.Seed)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// train makes steps, each on its batch, and ends with a forward after the last.
func (s *small) train(ctx context.Context, steps int) error {
	for range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := s.forward(); err != nil {
			return err
		}
		finite, err := s.update()
		if err != nil {
			return err
		}
		if !finite {
			return errors.Errorf("step %d: the gradient is not finite: lower -lr", s.steps)
		}
	}
	_, err := s.forward()
	return err
}

// forward runs the model and its gradient on the next batch and returns the loss.
func (s *small) forward() (float64, error) {
	if s.fixed {
		s.batches.Seek(0)
	}
	if err := s.batches.Next(s.program.Tokens, s.program.Targets); err != nil {
		return 0, err
	}
	if err := s.program.Run(graph.RunOptions{Step: uint64(s.steps)}); err != nil {
		return 0, err
	}
	loss, _, err := loss.Parts(s.program.Roots().Loss)
	return loss, err
}

// update makes a step with the gradient of the last forward; one that is not finite
// changes nothing.
func (s *small) update() (finite bool, err error) {
	s.steps++
	stats, err := s.optimize.Step(1)
	return stats.Finite, err
}

// activation returns the last forward's values of a hook, or of the logits.
func (s *small) activation(name string) ([]float64, error) {
	if name != logitsName {
		x, err := s.program.Hooked(name)
		if err != nil {
			return nil, err
		}
		return graph.Float64s(x), nil
	}
	x, ok := s.program.Logits.Value().(*tensor.Dense)
	if !ok {
		return nil, errors.New("logits: want their values, got none: run the model first")
	}
	return graph.Float64s(x), nil
}

func (s *small) close() {
	s.program.Close()
	if s.optimize != nil {
		s.optimize.Close()
	}
}

// loadCorpus loads the text of a run.
func loadCorpus(ctx context.Context, run *config.Run) (*data.Corpus, error) {
	corpus, err := run.Data.LoadCorpus(ctx, run.Device.Threads)
	if err != nil {
		return nil, err
	}
	return corpus, corpus.Check(run.Train.Batch, run.Model.Seq)
}

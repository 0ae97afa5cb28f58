package cache

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// LogitSum is a weighted sum of the logits of one token.
type LogitSum struct {
	Token   int             // in the row
	Weights map[int]float64 // of token ids
}

// GradientRunner computes gradients of a sum of logits on one row of token ids.
type GradientRunner struct {
	runner  *Runner
	ids     []int32
	token   int
	weights []float64
}

// Gradients runs a model once on one row of token ids and returns the gradients of a sum of logits
// with respect to some activations. names selects these by names or globs; there is one Activation
// for each, with its shape, in the order in which the model computes them. Gradients needs no
// memory for gradients of parameters.
func Gradients(store *graph.Store, spec models.Spec, ids []int32, of LogitSum, names ...string) ([]Activation, error) {
	r, err := OpenGradients(store, spec, ids, of, names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run()
}

// OpenGradients prepares to do what Gradients does several times. Close the GradientRunner after
// use.
func OpenGradients(store *graph.Store, spec models.Spec, ids []int32, of LogitSum, names ...string) (*GradientRunner, error) {
	runner, err := open(store, spec, Options{Names: names, Seq: len(ids)}, models.Outputs{Logits: true, LogitsAt: 1, LogitSum: true},
		graph.ProgramOptions{HookGradients: true})
	if err != nil {
		return nil, err
	}
	r := &GradientRunner{runner, ids, of.Token, make([]float64, spec.Vocab)}
	err = runner.check(ids, nil, len(ids))
	if err == nil {
		err = check.Index("token", of.Token, len(ids))
	}
	for id, w := range of.Weights {
		if err == nil {
			err = check.Index("target id", id, spec.Vocab)
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		r.weights[id] = w
	}
	return r, nil
}

// Close ends the GradientRunner.
func (r *GradientRunner) Close() { r.runner.Close() }

// Run returns the gradients in a run with some activations replaced, at the replaced values.
func (r *GradientRunner) Run(replace ...Intervention) ([]Activation, error) {
	if err := r.runner.check(r.ids, replace, len(r.ids)); err != nil {
		return nil, err
	}
	program := r.runner.program
	r.runner.replaced = replace
	copy(program.Tokens, r.ids)
	program.At[0] = int32(r.token)
	if err := graph.SetFloat64s(program.Weights, r.weights); err != nil {
		return nil, err
	}
	if err := program.Run(graph.RunOptions{}); err != nil {
		return nil, err
	}
	return r.runner.keep(program.HookGradient)
}

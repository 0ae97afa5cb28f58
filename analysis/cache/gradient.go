package cache

import (
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// LogitSum is a weighted sum of the logits of one token.
type LogitSum struct {
	Token   int             // in the row
	Weights map[int]float64 // of token ids
}

// Gradients runs a model once on one row of token ids and returns the gradients of a sum of
// logits with respect to the activations that names, names or globs, select: one Activation for
// each, with its shape, in the order in which the model computes them. It needs no memory for
// gradients of parameters.
func Gradients(store *graph.Store, c models.Spec, ids []int32, of LogitSum, names ...string) ([]Activation, error) {
	r, err := open(store, c, Options{Names: names, Seq: len(ids)}, models.Outputs{Logits: true, LogitsAt: 1, LogitSum: true},
		graph.ProgramOptions{HookGradients: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.check(ids, nil, len(ids)); err != nil {
		return nil, err
	}
	if err := check.Index("token", of.Token, len(ids)); err != nil {
		return nil, err
	}
	weights := make([]float64, c.Vocab)
	for id, w := range of.Weights {
		if err := check.Index("target id", id, c.Vocab); err != nil {
			return nil, err
		}
		weights[id] = w
	}
	return r.gradients(ids, of.Token, weights)
}

func (r *Runner) gradients(ids []int32, token int, weights []float64) ([]Activation, error) {
	copy(r.program.Tokens, ids)
	r.program.At[0] = int32(token)
	if err := graph.SetFloat64s(r.program.Weights, weights); err != nil {
		return nil, err
	}
	if err := r.program.Run(graph.RunOptions{}); err != nil {
		return nil, err
	}
	return r.keep(r.program.HookGradient)
}

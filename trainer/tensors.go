package trainer

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/pretrained"
)

// setValues copies tensors into the Store's parameters. Every parameter must be there,
// in its shape, and nothing else; otherwise nothing is changed.
func setValues(s *graph.Store, tensors []checkpoint.Tensor) error {
	targets := map[string]*tensor.Dense{}
	for _, p := range s.Params() {
		targets[p.Name] = p.Value
	}
	return assign(targets, tensors)
}

// The optimizer file holds two tensors a parameter.
const (
	moment1Suffix = ".moment1"
	moment2Suffix = ".moment2"
)

func moments(s *graph.Store) []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for _, p := range s.Params() {
		tensors = append(tensors,
			checkpoint.Tensor{Name: p.Name + moment1Suffix, Shape: p.Shape, Data: p.Moment1.Float32s()},
			checkpoint.Tensor{Name: p.Name + moment2Suffix, Shape: p.Shape, Data: p.Moment2.Float32s()})
	}
	return tensors
}

func setMoments(s *graph.Store, tensors []checkpoint.Tensor) error {
	targets := map[string]*tensor.Dense{}
	for _, p := range s.Params() {
		if err := s.EnsureMoments(p); err != nil {
			return err
		}
		targets[p.Name+moment1Suffix], targets[p.Name+moment2Suffix] = p.Moment1, p.Moment2
	}
	return assign(targets, tensors)
}

// assign copies tensors to the targets of their names, after checking all of them.
func assign(targets map[string]*tensor.Dense, tensors []checkpoint.Tensor) error {
	shapes := map[string][]int{}
	for name, to := range targets {
		shapes[name] = to.Shape()
	}
	given, err := pretrained.Match(shapes, tensors)
	if err != nil {
		return err
	}
	for name, to := range targets {
		copy(to.Float32s(), given[name])
	}
	return nil
}

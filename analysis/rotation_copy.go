package analysis

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// copyModel copies a model's parameters into a Store of their own.
func copyModel(store *graph.Store, spec models.Spec) (*graph.Store, error) {
	if err := models.CheckStore(store); err != nil {
		return nil, err
	}
	return copyModelAs(store, spec, store.DType())
}

// copyModelAs does what copyModel does, with another element type. The Store must have all
// parameters of the config and may have more.
func copyModelAs(store *graph.Store, spec models.Spec, dt tensor.Dtype) (*graph.Store, error) {
	fresh, err := emptyModel(spec, dt)
	if err != nil {
		return nil, err
	}
	for _, p := range fresh.Params() {
		from := store.Param(p.Name)
		if from == nil {
			return nil, missingParameter(p.Name)
		}
		if err := graph.SetFloat64s(p.Value, graph.Float64s(from.Value)); err != nil {
			return nil, errors.Wrapf(err, "parameter %q", p.Name)
		}
	}
	return fresh, nil
}

// emptyModel returns a Store of a model's parameters, all zero.
func emptyModel(spec models.Spec, dt tensor.Dtype) (*graph.Store, error) {
	plan := graph.NewPlan(dt)
	if _, err := models.New(gorgonia.NewGraph(), spec, graph.Options{DType: dt, Store: plan}); err != nil {
		return nil, err
	}
	for _, p := range plan.Params() {
		p.Value = tensor.New(tensor.Of(dt), tensor.WithShape(p.Shape...))
	}
	return plan.Serve(), nil
}

// missingParameter returns the error for a Store of another model.
func missingParameter(name string) error {
	return check.Valuef("store", "none: want the config that it was made for", "the parameter %q", name)
}

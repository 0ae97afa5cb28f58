package pretrained

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Tensors returns a Store's parameters, those that are not Frozen, as named tensors that share its
// memory.
func Tensors(s *graph.Store) []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for _, p := range s.Trained() {
		tensors = append(tensors, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	return tensors
}

// Match returns the data of tensors by name. The tensors must have exactly the names in shapes,
// each with its shape; further ones of element types that are not decoded are ignored.
func Match(shapes map[string][]int, tensors []checkpoint.Tensor) (map[string][]float32, error) {
	given := map[string][]float32{}
	for _, t := range tensors {
		shape, ok := shapes[t.Name]
		if !ok && !isDecoded(t) {
			continue
		}
		if !ok {
			return nil, &TensorError{t.Name, errors.Wrap(ErrOtherModel, "the model has none of that name")}
		}
		if !tensor.Shape(shape).Eq(tensor.Shape(t.Shape)) {
			return nil, &TensorError{t.Name, errors.Wrapf(ErrOtherModel, "want shape %v, got %v", shape, t.Shape)}
		}
		data, err := t.Float32s()
		if err != nil {
			return nil, err
		}
		given[t.Name] = data
	}
	for name := range shapes {
		if _, ok := given[name]; !ok {
			return nil, &TensorError{name, errors.Wrap(ErrOtherModel, "the model has it, the file does not")}
		}
	}
	return given, nil
}

// Serve returns a Store that serves a model, whose parameters are a file's tensors. Before
// allocating anything it checks the parameter count (in closed form), names and shapes, so that it
// takes no more memory than the file's size justifies, whatever the config claims.
func Serve(spec models.Spec, tensors []checkpoint.Tensor) (*graph.Store, error) {
	entries := 0
	for _, t := range tensors {
		entries += t.Len()
	}
	if n := spec.Cost().Parameters; n != entries {
		return nil, errors.Wrapf(ErrOtherModel, "want %d parameters for the model that the file describes, got tensors of %d entries: "+
			"it was damaged or edited", n, entries)
	}
	plan, err := planOf(spec)
	if err != nil {
		return nil, err
	}
	given, err := Match(shapesOf(plan.Params()), tensors)
	if err != nil {
		return nil, err
	}
	return fill(plan, given)
}

// shapesOf returns the parameters' shapes by name.
func shapesOf(params []*graph.Param) map[string][]int {
	shapes := map[string][]int{}
	for _, p := range params {
		shapes[p.Name] = p.Shape
	}
	return shapes
}

// planOf returns a Store that lists a model's parameters and those of adapters, without their
// values.
func planOf(spec models.Spec, adapters ...graph.Adapter) (*graph.Store, error) {
	plan := graph.NewPlan(tensor.Float32)
	if len(adapters) > 0 {
		if err := plan.Adapt(adapters); err != nil {
			return nil, err
		}
	}
	_, err := models.New(gorgonia.NewGraph(), spec, graph.Options{Store: plan})
	return plan, err
}

// fill returns a Store that serves a plan's parameters with these values.
func fill(plan *graph.Store, values map[string][]float32) (*graph.Store, error) {
	for _, p := range plan.Params() {
		if got := len(values[p.Name]); got != p.Size() {
			return nil, &TensorError{p.Name, errors.Wrapf(ErrOtherModel, "want %d entries, got %d", p.Size(), got)}
		}
		p.Value = tensor.New(tensor.WithShape(p.Shape...), tensor.WithBacking(values[p.Name]))
	}
	return plan.Serve(), nil
}

package trainer

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/pretrained"
)

// setValues copies tensors into the Store's parameters. The tensors must be exactly the parameters,
// in their shapes; otherwise nothing changes.
func setValues(s *graph.Store, tensors []checkpoint.Tensor) error {
	targets := map[string]*tensor.Dense{}
	for _, p := range s.Params() {
		targets[p.Name] = p.Value
	}
	return assign(targets, tensors)
}

// optimizerTensors returns what the optimizer file holds.
func optimizerTensors(o *optim.Optimizer) []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for _, s := range o.State() {
		tensors = append(tensors, checkpoint.Tensor{Name: s.Name, Shape: s.Value.Shape(), Data: s.Value.Float32s()})
	}
	return tensors
}

// setOptimizer copies tensors into the optimizer's state. It refuses the state of another update
// rule.
func setOptimizer(o *optim.Optimizer, tensors []checkpoint.Tensor) error {
	var names []string
	for _, t := range tensors {
		names = append(names, t.Name)
	}
	if err := o.CheckState(names); err != nil {
		return cannotResume("train.optim", "train.optim: %v: set it back, or start a new run with train.init_from", err)
	}
	targets := map[string]*tensor.Dense{}
	for _, s := range o.State() {
		targets[s.Name] = s.Value
	}
	return assign(targets, tensors)
}

// assign copies each tensor to the target of its name, after checking all of them.
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

package trainer

import (
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/pretrained"
)

// setValues copies tensors into parameters. The tensors must be exactly the parameters, in their
// shapes; otherwise nothing changes.
func setValues(params []*graph.Param, tensors []checkpoint.Tensor) error {
	shapes := map[string][]int{}
	for _, p := range params {
		shapes[p.Name] = p.Shape
	}
	given, err := pretrained.Match(shapes, tensors)
	if err != nil {
		return err
	}
	for _, p := range params {
		copy(p.Value.Float32s(), given[p.Name])
	}
	return nil
}

// optimizerTensors returns the content of the optimizer file. In a group each tensor is
// gathered from the ranks only when it is written.
func (t *Trainer) optimizerTensors() []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for i, s := range t.learner.Optimizer().State() {
		c := checkpoint.Tensor{Name: s.Name, Shape: s.Param.Shape}
		if t.group == nil {
			c.Data = s.Value.Float32s()
		} else {
			c.Data = checkpoint.Deferred{Elements: s.Param.Size(), Read: func() ([]float32, error) { return t.fetchState(i, s) }}
		}
		tensors = append(tensors, c)
	}
	return tensors
}

// setOptimizer copies tensors into the optimizer's state. It refuses the state of another update
// rule. In a group it keeps them for the other ranks.
func (t *Trainer) setOptimizer(tensors []checkpoint.Tensor) error {
	o := t.learner.Optimizer()
	var names []string
	for _, given := range tensors {
		names = append(names, given.Name)
	}
	if err := o.CheckState(names); err != nil {
		return cannotResume("train.optim", "train.optim: %v: set it back, or start a new run with train.init_from", err)
	}
	shapes := map[string][]int{}
	for _, s := range o.State() {
		shapes[s.Name] = s.Param.Shape
	}
	given, err := pretrained.Match(shapes, tensors)
	if err != nil {
		return err
	}
	for _, s := range o.State() {
		setState(s, given[s.Name])
	}
	if t.group != nil {
		t.restored = given
	}
	return nil
}

// setState copies this rank's part of a whole tensor into the optimizer's state.
func setState(s optim.StateTensor, whole []float32) {
	if s.Value != nil {
		if s.Cut() {
			whole = s.Param.DeviceOrder(whole)
		}
		copy(s.Value.Float32s(), whole[s.From:s.To])
	}
}

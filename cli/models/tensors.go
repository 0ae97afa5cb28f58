package models

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// presetTensors lists a model's parameters and activations by the names that checkpoints, hooks and
// analyses use.
type presetTensors struct {
	Name        string        `json:"name"`
	Parameters  []namedTensor `json:"parameters"`
	Activations []namedTensor `json:"activations"` // for one token
}

// namedTensor is a tensor, or several of one shape whose names differ only in the block's number:
// blocks.*.attention.qkv.
type namedTensor struct {
	Name  string   `json:"name"`
	Count int      `json:"count"` // number of tensors with that name
	Shape []int    `json:"shape"`
	Axes  []string `json:"axes,omitempty"` // of an activation
}

// newPresetTensors builds the model over a store without values, and hooks every activation, since
// some exist only if they are hooked.
func newPresetTensors(p models.Preset, s models.Spec) (presetTensors, error) {
	hooks := graph.Hooks{}
	b, err := sketch(s, hooks)
	if err != nil {
		return presetTensors{}, err
	}
	for _, name := range b.ActivationNames() {
		hooks[name] = nil
	}
	if b, err = sketch(s, hooks); err != nil {
		return presetTensors{}, err
	}
	all := presetTensors{Name: p.Name}
	for _, param := range b.Store().Params() {
		all.Parameters = withTensor(all.Parameters, param.Name, param.Shape, nil)
	}
	for _, a := range b.Activations() {
		all.Activations = withTensor(all.Activations, a.Name, a.Shape, a.Axes)
	}
	return all, nil
}

// sketch builds the nodes of a model for one token, to read off their names and shapes.
func sketch(s models.Spec, hooks graph.Hooks) (*graph.Builder, error) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: graph.NewPlan(tensor.Float32), Hooks: hooks})
	m, err := models.On(b, s)
	if err != nil {
		return nil, err
	}
	m.Logits(m.Forward(b.Input("tokens", tensor.Int32, 1, 1)))
	return b, cmp.Or(m.Err(), b.Err())
}

// blockNumber matches the part in which the names of the blocks' tensors differ.
var blockNumber = regexp.MustCompile(`^blocks\.\d+\.`)

// withTensor appends a tensor, or counts it if a tensor of the same name in another block, with the
// same shape, is listed already.
func withTensor(all []namedTensor, name string, shape []int, axes []string) []namedTensor {
	name = blockNumber.ReplaceAllString(name, "blocks.*.")
	for i := range all {
		if all[i].Name == name && fmt.Sprint(all[i].Shape) == fmt.Sprint(shape) {
			all[i].Count++
			return all
		}
	}
	return append(all, namedTensor{Name: name, Count: 1, Shape: shape, Axes: axes})
}

// tensorsTable lists the tensors of a single preset.
func tensorsTable(all []presetTensors) string {
	var parameters, activations figure.Table
	parameters.Align, activations.Align = "lrl", "lrl"
	parameters.Row("parameter", "count", "shape")
	activations.Row("activation", "count", "shape")
	for _, p := range all[0].Parameters {
		parameters.Row(p.Name, fmt.Sprint(p.Count), fmt.Sprint(p.Shape))
	}
	for _, a := range all[0].Activations {
		sizes := make([]string, len(a.Axes))
		for i, axis := range a.Axes {
			sizes[i] = axis
			if axis != graph.TokenAxis {
				sizes[i] += fmt.Sprint(" ", a.Shape[i])
			}
		}
		activations.Row(a.Name, fmt.Sprint(a.Count), "["+strings.Join(sizes, ", ")+"]")
	}
	return all[0].Name + "\n\n" + parameters.Text() + "\n" + activations.Text()
}

// Package models holds the command that lists presets with their sizes and costs.
package models

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Command returns the command that lists the presets of a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo, training: training{Batch: 8, Device: graph.CUDA, Recompute: graph.RecomputeNone}}
	return commandline.Command{
		Name:    "models",
		Summary: "list the model presets with parameters, FLOPs, stream size and activation memory, or the residual streams",
		Example: `
			models
			models -json
			models -residuals    # the update rule of each residual stream
			models -preset quickstart    # its parameters and activations
			models -memory -batch 16 -precision bf16    # memory of training on a GPU
			models -memory -device cpu    # on this machine
			models -memory -fit 80 -recompute block    # the largest batches that fit into 80 GB`,
		Notes: `
			A run config names a preset and what differs from it: model: {preset: rmt-134m, layers: 8}.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	Residuals bool    `yaml:"residuals" help:"list instead the residual streams: what A_res, B_up and A_down of h' = A_res h + B_up F(A_down h) are in each"`
	Memory    bool    `yaml:"memory" help:"list instead the memory, in MB of 1e6 bytes, that training each preset takes"`
	Fit       float64 `yaml:"fit" min:"0" max:"1e6" help:"list instead the largest batches of training and inference in <GB> gigabytes of 1e9 bytes"`
	Preset    string  `yaml:"preset" help:"list the parameters and activations of preset <NAME>, with shapes; with -memory or -fit list it alone"`
	training
	JSON bool `yaml:"json" help:"write a JSON array, with parameters, FLOPs and bytes as whole numbers"`
}

func (c *call) run(_ context.Context, out commandline.Output) error {
	presets, err := c.presets()
	switch {
	case err != nil:
		return err
	case c.Residuals:
		return c.runResiduals(out)
	case c.Fit != 0:
		return c.runFit(out, presets)
	case c.Memory:
		return c.runMemory(out, presets)
	case c.Preset != "":
		return show(c, out, presets, newPresetTensors, tensorsTable)
	}
	return show(c, out, presets, newPreset, table)
}

// presets returns the preset that -preset names, or all.
func (c *call) presets() ([]models.Preset, error) {
	if c.Preset == "" {
		return c.zoo.Presets(), nil
	}
	p, err := c.zoo.Preset(c.Preset)
	if err != nil {
		return nil, commandline.Usagef("-preset: %v", err)
	}
	return []models.Preset{p}, nil
}

// show computes a line for each preset from its model and writes all of them, as JSON or as a
// table.
func show[T any](c *call, out commandline.Output, presets []models.Preset, line func(models.Preset, models.Spec) (T, error), table func([]T) string) error {
	var all []T
	for _, p := range presets {
		spec, err := p.Config.Resolve()
		if err != nil {
			return errors.Wrap(err, p.Name)
		}
		one, err := line(p, spec)
		if err != nil {
			return errors.Wrap(err, p.Name)
		}
		all = append(all, one)
	}
	if c.JSON {
		return out.PrintJSON(all)
	}
	return out.Print(table(all))
}

func (c *call) runResiduals(out commandline.Output) error {
	all, err := designs(c.zoo)
	if err != nil {
		return err
	}
	if c.JSON {
		return out.PrintJSON(all)
	}
	return out.Print(formTable(all))
}

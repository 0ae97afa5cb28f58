// Package models is the command that lists presets and what each takes.
package models

import (
	"context"
	"flag"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Command lists what is in a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "models",
		Summary: "list the model presets with parameters, FLOPs, stream size and activation memory, or the residual streams",
		Example: []string{
			"models",
			"models -json",
			"models -residuals    # the update rule of each residual stream",
			"models -memory -batch 16 -precision bf16    # memory of training on a GPU",
			"models -memory -device cpu    # on this machine",
			"models -memory -fit 80 -recompute block    # the largest batches that fit into 80 GB",
			"models -roofline h200 -precision bf16 -batch 32    # predicted time of a training step on a GPU",
			"models -roofline h200 -precision bf16 -batch 32 -preset rmt-134m    # by op",
		},
		Notes: []string{
			"A run config names a preset and what differs from it: model: {preset: rmt-134m, layers: 8}.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	zoo                     models.Zoo
	json, residuals, memory bool
	training                training
	fit                     float64 // gigabytes; 0: the batch is given
	roofline, preset        string
	seq                     int
}

func (c *call) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.json, "json", false, "write a JSON array, with parameters, FLOPs and bytes as whole numbers")
	flags.BoolVar(&c.memory, "memory", false, "list instead the memory that training each preset takes")
	flags.StringVar(&c.training.device, "device", string(graph.CUDA), "with -memory: train on `DEVICE`: cuda or cpu")
	flags.IntVar(&c.training.batch, "batch", 8, "with -memory and -roofline: train on batches of `N` sequences")
	flags.Float64Var(&c.fit, "fit", 0, "with -memory: list instead the largest batches that training and inference have room for in `GB` gigabytes of 1e9 bytes")
	flags.StringVar(&c.training.precision, "precision", "", "with -memory and -roofline, on cuda: compute matrix products in `TYPE`: fp32, tf32 or bf16; default tf32")
	flags.StringVar(&c.training.recompute, "recompute", string(graph.RecomputeNone), "with -memory and -roofline: what the backward pass computes again, `none|block`: nothing, or each block's activations")
	flags.StringVar(&c.roofline, "roofline", "", "list instead how long a training step of each preset would take on a `GPU`: h100, h200, a100, rtx4090 or b200")
	flags.StringVar(&c.preset, "preset", "", "with -roofline: list the ops of the preset `NAME` alone")
	flags.IntVar(&c.seq, "seq", 0, "with -roofline: train on sequences of `N` tokens; 0: the preset's")
	flags.BoolVar(&c.residuals, "residuals", false, "list instead the residual streams: what A_res, B_up and A_down of h' = A_res h + B_up F(A_down h) are in each")
}

func (c *call) run(_ context.Context, out cli.Output) error {
	switch {
	case c.residuals:
		return c.runResiduals(out)
	case c.memory && c.fit != 0:
		return c.runFit(out)
	case c.memory:
		return c.runMemory(out)
	case c.roofline != "":
		return c.runRoofline(out)
	}
	var presets []preset
	for _, p := range c.zoo.Presets() {
		line, err := newPreset(p)
		if err != nil {
			return err
		}
		presets = append(presets, line)
	}
	if c.json {
		return out.PrintJSON(presets)
	}
	return out.Print(table(presets))
}

func (c *call) runResiduals(out cli.Output) error {
	all, err := designs(c.zoo)
	if err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(all)
	}
	return out.Print(formTable(all))
}

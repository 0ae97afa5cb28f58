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
		Summary: "list every preset with parameters, FLOPs, stream size and activation memory, or the residual streams",
		Example: []string{
			"go run ./cmd/models",
			"go run ./cmd/models -json",
			"go run ./cmd/models -residuals    # what each residual stream chooses",
			"go run ./cmd/models -memory -batch 16 -precision bf16    # what training takes of a GPU",
			"go run ./cmd/models -memory -device cpu    # of this machine",
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
}

func (c *call) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.json, "json", false, "write one JSON array: parameters, FLOPs and bytes as whole numbers")
	flags.BoolVar(&c.memory, "memory", false, "list instead what training each preset takes of a GPU's memory, or of this machine's")
	flags.StringVar(&c.training.device, "device", string(graph.CUDA), "with -memory: train on `D`: cuda or cpu")
	flags.IntVar(&c.training.batch, "batch", 8, "with -memory: `N` rows a step")
	flags.StringVar(&c.training.precision, "precision", "", "with -memory, on cuda: compute in `P`: fp32, tf32 or bf16; default tf32")
	flags.StringVar(&c.training.recompute, "recompute", string(graph.RecomputeNone), "with -memory: recompute `R`: none or block")
	flags.BoolVar(&c.residuals, "residuals", false, "list the residual streams instead: how each fills in h' = A_res h + B_up F(A_down h)")
}

func (c *call) run(_ context.Context, out cli.Output) error {
	switch {
	case c.residuals:
		return c.runResiduals(out)
	case c.memory:
		return c.runMemory(out)
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

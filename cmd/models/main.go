// Command models lists the presets and what each takes.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/residua-go/residua/cmd/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() { os.Exit(cli.Main(command(), os.Args[1:], os.Stdout, os.Stderr)) }

func command() cli.Command {
	var c call
	return cli.Command{
		Name:    "models",
		Summary: "list every preset with parameters, FLOPs, stream size and activation memory, or the residual streams",
		Example: []string{
			"go run ./cmd/models",
			"go run ./cmd/models -json",
			"go run ./cmd/models -residuals    # what each residual stream chooses",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct{ json, residuals bool }

func (c *call) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.json, "json", false, "write one JSON array: parameters, FLOPs and bytes as whole numbers")
	flags.BoolVar(&c.residuals, "residuals", false, "list the residual streams instead: how each fills in h' = A_res h + B_up F(A_down h)")
}

func (c *call) run(_ context.Context, out cli.Output) error {
	if c.residuals {
		return c.runResiduals(out)
	}
	var presets []preset
	for _, p := range models.Presets() {
		presets = append(presets, newPreset(p))
	}
	if c.json {
		return out.PrintJSON(presets)
	}
	return out.Print(table(presets))
}

func (c *call) runResiduals(out cli.Output) error {
	all, err := designs()
	if err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(all)
	}
	return out.Print(formTable(all))
}

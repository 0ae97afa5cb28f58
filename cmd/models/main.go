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
		Summary: "list every preset with parameters, FLOPs, stream size and activation memory",
		Example: []string{
			"go run ./cmd/models",
			"go run ./cmd/models -json",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct{ json bool }

func (c *call) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.json, "json", false, "write one JSON array: parameters, FLOPs and bytes as whole numbers")
}

func (c *call) run(_ context.Context, out cli.Output) error {
	var presets []preset
	for _, p := range models.Presets() {
		presets = append(presets, newPreset(p))
	}
	if c.json {
		return out.PrintJSON(presets)
	}
	return out.Print(table(presets))
}

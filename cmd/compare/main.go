// Command compare holds models against each other: finished runs, configs at one budget, the
// widths of a family under muP and without, and each residual stream against the plain transformer.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() { os.Exit(cli.Main(command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr)) }

// command compares models of a zoo.
func command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "compare",
		Summary: "compare finished runs, or train configs for one budget and compare them; check muP's coordinates and rates; write the models' cards",
		Example: []string{
			"go run ./cmd/compare runs/quickstart runs/short     # one table and plot of runs that train has made",
			"go run ./cmd/compare -config configs/quickstart.yaml,configs/quickstart-transformer.yaml -budget tokens=1000000 -lr 3e-3,1e-2",
			"go run ./cmd/compare -coordcheck                    # do activations keep their size as the width grows?",
			"go run ./cmd/compare -lrsweep                       # does the best rate stay where it is? minutes",
			"go run ./cmd/compare -cards docs/models.md          # every stream beside the transformer; about an hour",
		},
		Notes: append([]string{
			"-config and -cards train into a folder a run below -out. A run that is complete is not repeated and one that was cut",
			"short goes on: call again after an interrupt. Runs of one comparison see the same batches.",
			"-coordcheck and -lrsweep train small models in memory, of these streams:",
		}, familyNotes(zoo)...),
		Flags:    c.flags,
		Operands: &cli.Operands{Name: "RUN...", Usage: "compare these runs' folders, as train and compare write them", Values: &c.folders},
		Run:      c.run,
	}
}

// call is what the flags ask for.
type call struct {
	zoo     models.Zoo
	given   *flag.FlagSet
	folders []string

	configs, budget, rates, out, svg, axis string
	seed                                   uint64
	sets                                   cli.List
	json                                   bool

	coordinates, sweep bool
	streams, widths    string
	steps, seeds       int

	cards, speeds, plain string
	tokens               int64
}

func (c *call) flags(flags *flag.FlagSet) {
	c.given = flags
	flags.StringVar(&c.configs, "config", "", "compare the run configs `A,B`: files, or names of built-in ones, as quickstart,mhc")
	flags.StringVar(&c.budget, "budget", "", "train each on `tokens=N|flops=N`, flops being the model's own; default the first config's tokens")
	flags.StringVar(&c.rates, "lr", "", "train at each of these peak `RATES`, as in 1e-3,3e-3; default each config's own; with -cards 1e-3,3e-3,1e-2, -coordcheck 1e-3, -lrsweep 2^-12 to 2^-5")
	flags.Uint64Var(&c.seed, "seed", 0, "seed weights and batches with `N`")
	flags.Var(&c.sets, "set", "override a key of every config, `key=value`, as in data.source=files; may be repeated")
	flags.StringVar(&c.out, "out", filepath.Join("runs", "compare"), "write runs and pictures into `DIR`")
	flags.StringVar(&c.svg, "svg", "", "draw into `FILE` instead of DIR/compare.svg, coordcheck.svg or lrsweep.svg")
	flags.StringVar(&c.axis, "x", axisTokens, "draw the loss against `tokens|flops`")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	flags.BoolVar(&c.coordinates, "coordcheck", false, "check muP's coordinates: the size of activations against the width, under muP and in the standard parametrisation")
	flags.BoolVar(&c.sweep, "lrsweep", false, "check muP's transfer of rates: the loss against the rate, for each width")
	all, whole := familyNames(c.zoo)
	flags.StringVar(&c.streams, "stream", strings.Join(whole, ","), "check the families `A,B`: "+strings.Join(all, ", "))
	flags.StringVar(&c.widths, "widths", "", "widths as `MULTIPLES` of the base; default 1,2,4,8, with -lrsweep 1,2,4")
	flags.IntVar(&c.steps, "steps", 0, "train `N` steps; default 10, with -lrsweep 200")
	flags.IntVar(&c.seeds, "seeds", 3, "average the coordinates over `N` seeds from -seed on")
	flags.StringVar(&c.cards, "cards", "", "write a card of each stream into `FILE`, with curves beside it in curves/")
	flags.Int64Var(&c.tokens, "tokens", 1_000_000, "train each card's runs on `N` tokens")
	flags.StringVar(&c.plain, "plain", plainPreset, "write the cards of the transformer `PRESET` and of the presets that are compared with it")
	flags.StringVar(&c.speeds, "zoo", filepath.Join("docs", "zoo.json"), "read the cards' speed and memory from `FILE`, written by bench -zoo -json; without it they show -")
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	m, err := c.mode()
	if err != nil {
		return err
	}
	return m.run(ctx, out)
}

// draw writes a picture to -svg, or under its own name into the folder, and returns where.
func (c *call) draw(name string, write func(io.Writer) error) (string, error) {
	path := c.svg
	if path == "" {
		path = filepath.Join(c.out, name)
	}
	return path, writeFile(path, write)
}

// drawing writes a figure as SVG.
func drawing(f figure.Figure) func(io.Writer) error {
	return func(w io.Writer) error {
		svg, err := figure.SVG(f)
		if err == nil {
			_, err = w.Write(svg)
		}
		return errors.WithStack(err)
	}
}

// writeFile writes a file into a folder that need not be there yet.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return errors.WithStack(err)
	}
	return checkpoint.WriteFileAtomic(path, write)
}

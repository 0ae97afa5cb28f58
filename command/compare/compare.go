// Package compare is the command that compares models: runs that were trained before, configs trained
// on one budget, small models of growing width under muP and without, and each residual stream with a
// transformer.
package compare

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"time"

	"github.com/residua-go/residua/experiment/cards"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/experiment/mup"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Command compares models of a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "compare",
		Summary: "compare training runs, train configs on one budget to compare them, or check muP",
		Example: []string{
			"train -config quickstart -set train.lr=1e-3 -out runs/slower    # a second run to compare with runs/quickstart",
			"compare runs/quickstart runs/slower  # runs that train has made: a table, and a plot of the loss",
			"compare -config quickstart,mhc -budget tokens=500000 -lr 3e-3,1e-2    # train both, each at two rates",
			"compare -coordcheck                  # does muP keep activations at one size as models grow wider?",
			"compare -cards docs/models.md        # every residual stream next to the transformer; takes hours, and goes on where it was stopped",
		},
		Notes: append([]string{
			"One call does one of these: it compares the RUN folders, or what -config, -coordcheck or -cards says.",
			"",
			"-config and -cards train on the same batches in the same order, each run in a folder of its own below -out. Call again",
			"after an interrupt: runs that are complete are not repeated, the one that was interrupted goes on.",
			"-cards tries rates four a decade until the best lies between two worse ones, then takes more seeds at it.",
			"",
			"-coordcheck trains small models in memory, of a base width and multiples of it, under muP (the maximal update",
			"parametrisation) and in the standard parametrisation. -stream chooses among these; in each the named sizes grow:",
		}, scalingNotes(zoo)...),
		Flags:    c.flags,
		Operands: &cli.Operands{Name: "RUN...", Usage: "compare the runs in these folders, as train and compare write them", Values: &c.folders},
		Run:      c.run,
	}
}

// scalingNotes say what grows in each.
func scalingNotes(zoo models.Zoo) []string {
	var notes []string
	for _, s := range mup.Scalings(zoo) {
		notes = append(notes, "  "+s.Name+": "+s.Scales)
	}
	return notes
}

// defaultSeeds is how many seeds are averaged over.
const defaultSeeds = 3

// call is what the flags ask for.
type call struct {
	zoo     models.Zoo
	given   *flag.FlagSet
	folders []string

	configs, budget, rates, out, svg, axis string
	seed                                   uint64
	sets                                   cli.List
	json                                   bool

	coordinates     bool
	streams, widths string
	steps, seeds    int

	cards, speeds, baseline, only string
	tokens                        int64
	stopAfter                     time.Duration
}

func (c *call) flags(flags *flag.FlagSet) {
	c.given = flags
	flags.StringVar(&c.configs, "config", "", "train the run configs `A,B` and compare them: files, or names of built-in ones (train -configs lists them), each with settings of its own after spaces, as in 'quickstart,quickstart name=muon train.optim.kind=muon'")
	flags.StringVar(&c.budget, "budget", "", "with -config: train each model on `tokens=N|flops=N`, counting its own FLOPs; default the tokens of the first config")
	flags.StringVar(&c.rates, "lr", "", "train at each of the peak learning `RATES`, as in 1e-3,3e-3; default each config's own, with -coordcheck 1e-3")
	flags.Uint64Var(&c.seed, "seed", 0, "draw weights and batches from the seed `N`")
	flags.Var(&c.sets, "set", "override a key of every config, `key=value`, as in data.source=files; may be repeated")
	flags.StringVar(&c.out, "out", filepath.Join("runs", "compare"), "write runs and plots into `DIR`")
	flags.StringVar(&c.svg, "svg", "", "draw the plot into `FILE` instead of a file in DIR named after the runs, or DIR/coordcheck.svg")
	flags.StringVar(&c.axis, "x", string(compare.Tokens), "plot the loss against `tokens|flops`")
	flags.BoolVar(&c.json, "json", false, "print one line of JSON instead of a table")
	flags.BoolVar(&c.coordinates, "coordcheck", false, "check under muP and without how the size of activations depends on the width")
	var all, whole []string
	for _, s := range mup.Scalings(c.zoo) {
		all = append(all, s.Name)
		if s.Whole() {
			whole = append(whole, s.Name)
		}
	}
	flags.StringVar(&c.streams, "stream", strings.Join(whole, ","), "with -coordcheck: train the models `A,B` of "+strings.Join(all, ", "))
	flags.StringVar(&c.widths, "widths", "", "train at these `MULTIPLES` of the base width; default 1,2,4,8")
	flags.IntVar(&c.steps, "steps", 0, "train for `N` steps; default 10")
	flags.IntVar(&c.seeds, "seeds", defaultSeeds, "with -coordcheck, and with -cards at the best rate: average over `N` seeds, from -seed on")
	flags.StringVar(&c.cards, "cards", "", "search the best learning rate of each residual stream, write a page into `FILE` with a card for each, and plots into the folder curves next to it")
	flags.StringVar(&c.only, "only", "", "with -cards: train for the cards `A,B` alone, in that order; the page shows what is complete of the others")
	flags.DurationVar(&c.stopAfter, "stop-after", 0, "with -cards: start no run after `TIME`, as in 3h; the page shows what is complete, and the next call goes on; 0: never stop")
	flags.Int64Var(&c.tokens, "tokens", 1_000_000, "with -cards: train each run on `N` tokens")
	flags.StringVar(&c.baseline, "baseline", cards.Baseline, "with -cards: the transformer `PRESET`; cards are of the presets that are compared with it")
	flags.StringVar(&c.speeds, "zoo", filepath.Join("docs", "zoo.json"), "with -cards: show the speed and memory in `FILE`, written by bench zoo -out; where it has none the page shows -")
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	m, err := c.mode()
	if err != nil {
		return err
	}
	return m.run(ctx, out)
}

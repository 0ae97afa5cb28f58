package analyze

import (
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func wiring(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisWiring,
		Summary: "the wiring diagram: who writes where, and who reads it, by virtual weights",
		Example: []string{
			"go run ./cmd/analyze wiring -checkpoint runs/quickstart -out /tmp/wiring",
			"go run ./cmd/analyze wiring -checkpoint runs/quickstart -from embedding -to blocks.1.attention.3.q",
		},
		Notes: []string{
			"A connection's strength is measured against random weights, or keys, of the same shapes:",
			"-threshold says how many deviations above them are drawn. -from and -to show the virtual",
			"weights of one connection; writers are embedding, positions, blocks.0.attention (or .1 for",
			"a head), blocks.0.feedforward, readers blocks.0.attention.q (or .1.q), blocks.0.feedforward,",
			"unembedding.",
		},
	}, &wiringCall{})
}

type wiringCall struct {
	mixing
	options  analysis.WiringOptions
	from, to string
}

func (c *wiringCall) flags(flags *flag.FlagSet) {
	c.mixing.flags(flags)
	flags.BoolVar(&c.options.Whole, "whole", false, "take all heads of a layer for one")
	flags.Float64Var(&c.options.Threshold, "threshold", 3, "draw connections `Z` deviations above random weights")
	flags.IntVar(&c.options.Draws, "draws", 1000, "draw random weights `N` times")
	flags.Uint64Var(&c.options.Seed, "seed", 1, "seed the random weights with `N`")
	flags.StringVar(&c.from, "from", "", "show the virtual weights from writer `W` alone, with -to")
	flags.StringVar(&c.to, "to", "", "show the virtual weights to reader `R` alone, with -from")
}

func (c *wiringCall) report(s *subject) (*report, error) {
	if (c.from == "") != (c.to == "") {
		return nil, errors.New("-from and -to: want both or none, got one")
	}
	if c.options.Draws < 2 {
		return nil, errors.Errorf("-draws: want >= 2, got %d", c.options.Draws)
	}
	if err := atMost("-draws", c.options.Draws); err != nil {
		return nil, err
	}
	if c.options.Threshold <= 0 {
		return nil, errors.Errorf("-threshold: want above 0, got %g", c.options.Threshold)
	}
	r, run, err := c.begin(s, "Wiring")
	if err != nil {
		return nil, err
	}
	if c.from != "" {
		weights, err := analysis.Connect(s.Store, s.Spec, c.from, c.to, run)
		if err != nil {
			return nil, err
		}
		r.add("weights", "Virtual weights", "What one site writes and another reads are connected through the stream by the product of their weights.", weights)
		return r, nil
	}
	c.options.Run = run
	diagram, err := analysis.Wire(s.Store, s.Spec, c.options)
	if err != nil {
		return nil, err
	}
	r.add("wiring", "Who writes, who reads", "Columns in the order of the run. An edge is a virtual weight that stands out of those of random weights.", diagram)
	return r, nil
}

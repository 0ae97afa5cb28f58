package analyze

import (
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func basis(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisBasis,
		Summary: "whether the stream's own basis is privileged: kurtosis, against rotated controls",
		Example: []string{
			"go run ./cmd/analyze basis -checkpoint runs/quickstart",
			`go run ./cmd/analyze basis -checkpoint runs/quickstart -prompt "$(cat command/command.go)" -out /tmp/basis`,
		},
		Notes: []string{
			"The more tokens, the surer the numbers: a prompt may be of any length here, it is read in",
			"rows as long as those of training (Elhage, Lasenby & Olah 2023).",
		},
	}, &basisCall{})
}

type basisCall struct {
	prompt
	options analysis.BasisOptions
}

func (c *basisCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	c.prompt.anyLength = true
	flags.IntVar(&c.options.Controls, "controls", 8, "compare with `N` random rotations")
	flags.Uint64Var(&c.options.Seed, "seed", 1, "seed the rotations with `N`")
}

func (c *basisCall) report(s *subject) (*report, error) {
	if c.options.Controls < 1 {
		return nil, errors.Errorf("-controls: want >= 1, got %d", c.options.Controls)
	}
	if err := atMost("-controls", c.options.Controls); err != nil {
		return nil, err
	}
	ids, err := c.read(s, 2)
	if err != nil {
		return nil, err
	}
	measured, err := analysis.MeasureBasis(s.Store, s.Spec, ids, c.options)
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Privileged basis", ids)
	r.add("basis", "Own basis and turned ones",
		"In a stream without a privileged basis, entries are distributed along its own directions as along those of a random rotation. A kurtosis of 3 is a Gaussian's.", measured)
	return r, nil
}

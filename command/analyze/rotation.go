package analyze

import (
	"cmp"
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func rotation(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisRotation,
		Summary: "how far logits move when the stream is rotated, and what optimizers do to that",
		Example: []string{
			"go run ./cmd/analyze rotation -checkpoint runs/quickstart",
			"go run ./cmd/analyze rotation -checkpoint runs/quickstart -seeds 5 -steps 50 -out /tmp/rotation",
		},
		Notes: []string{
			"The stream is turned by random orthogonal matrices, folded into the weights, with each of",
			"what breaks the invariance alone. The model and a turned copy are then trained side by side.",
		},
	}, &rotationCall{})
}

type rotationCall struct {
	prompt
	seeds, steps int
	seed         uint64
}

func (c *rotationCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	flags.IntVar(&c.seeds, "seeds", 3, "try `N` rotations")
	flags.IntVar(&c.steps, "steps", 20, "train side by side for `N` steps an optimizer; 0: don't")
	flags.Uint64Var(&c.seed, "seed", 1, "seed the rotations with `N`")
}

func (c *rotationCall) report(s *subject) (*report, error) {
	switch {
	case c.seeds < 1:
		return nil, errors.Errorf("-seeds: want >= 1, got %d", c.seeds)
	case c.steps < 0:
		return nil, errors.Errorf("-steps: want >= 0, got %d", c.steps)
	}
	if err := cmp.Or(atMost("-seeds", c.seeds), atMost("-steps", c.steps)); err != nil {
		return nil, err
	}
	ids, err := c.read(s, 2)
	if err != nil {
		return nil, err
	}
	measured, err := analysis.MeasureRotation(s.Store, s.Spec, ids, analysis.RotationReportOptions{Seeds: c.seeds, Seed: c.seed})
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Rotation of the stream", ids)
	r.add("rotation", "Rotations folded into the weights", "How far the logits move when the stream is turned and the weights with it: not at all but for rounding, unless something has a basis of its own.", measured)
	if c.steps == 0 {
		return r, nil
	}
	trained, err := analysis.CompareOptimizers(s.Store, s.Spec, ids, analysis.OptimizerOptions{RotationOptions: analysis.RotationOptions{Seed: c.seed}, Steps: c.steps})
	if err != nil {
		return nil, err
	}
	r.add("optimizers", "Optimizers", "A model without breakers and a rotated copy are trained side by side. Under plain gradient descent they stay each other's rotation; coordinate-wise optimizers make a basis special.", trained)
	return r, nil
}

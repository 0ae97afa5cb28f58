package compare

import (
	"context"
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/mup"
	"github.com/residua-go/residua/internal/cli"
)

// checkCoordinates is -coordcheck.
func (c *call) checkCoordinates(ctx context.Context, out cli.Output) error {
	scalings, err := c.scalings()
	if err != nil {
		return err
	}
	o := mup.CoordinateOptions{Steps: c.steps, Seeds: c.seeds, Seed: c.seed, Set: c.sets}
	if o.Widths, err = c.widthList(); err != nil {
		return err
	}
	rates, err := c.rateList()
	if err != nil {
		return err
	}
	if len(rates) > 1 || c.seeds < 1 {
		return cli.Usagef("-coordcheck: want one -lr and -seeds >= 1, got %d rates and %d seeds", len(rates), c.seeds)
	}
	if len(rates) == 1 {
		o.Rate = rates[0]
	}
	var checks []*mup.Coordinates
	text := ""
	for _, s := range scalings {
		o.Done = func(p mup.Parametrisation, width int) {
			out.Note(fmt.Sprintf("%s, %s, width x%d: measured", s.Name, p, width))
		}
		check, err := mup.CheckCoordinates(ctx, s, o)
		if err != nil {
			return usage(err)
		}
		checks = append(checks, check)
		text += check.Text() + "\n"
	}
	return c.report("coordcheck.svg", mup.CoordinateFigure(checks), text, checks, out)
}

// scalings reads -stream.
func (c *call) scalings() ([]mup.Scaling, error) {
	all, err := mup.Find(c.zoo, strings.Split(c.streams, ","))
	return all, cli.Usage(errors.WithMessage(err, "-stream"))
}

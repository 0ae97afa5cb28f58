package compare

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/internal/cli"
)

// compareRuns is compare RUN...: it trains nothing.
func (c *call) compareRuns(_ context.Context, out cli.Output) error {
	axis, err := compare.ParseUnit(c.axis)
	if err != nil {
		return cli.Usage(errors.WithMessage(err, "-x"))
	}
	all, warnings, err := compare.ReadRuns(c.zoo, c.folders)
	if err != nil {
		return usage(err)
	}
	for _, w := range warnings {
		out.Warn(w)
	}
	return c.show(all, axis, out)
}

// compareConfigs is -config.
func (c *call) compareConfigs(ctx context.Context, out cli.Output) error {
	axis, err := compare.ParseUnit(c.axis)
	if err != nil {
		return cli.Usage(errors.WithMessage(err, "-x"))
	}
	plan := compare.Plan{Zoo: c.zoo, Out: c.out, Seed: c.seed, Set: c.sets}
	if plan.Rates, err = c.rateList(); err != nil {
		return err
	}
	if c.budget != "" {
		if plan.Budget, err = compare.ParseBudget(c.budget); err != nil {
			return cli.Usage(errors.WithMessage(err, "-budget"))
		}
	}
	var configs []compare.Config
	for _, file := range strings.Split(c.configs, ",") {
		if file = strings.TrimSpace(file); file != "" {
			configs = append(configs, compare.Config{File: file})
		}
	}
	trainings, err := plan.Trainings(ctx, configs)
	if err != nil {
		return usage(err)
	}
	all, err := compare.Train(ctx, trainings, logTo(out))
	if err != nil {
		return usage(err)
	}
	return c.show(all, axis, out)
}

// show draws all runs and prints them.
func (c *call) show(all []compare.Model, axis compare.Unit, out cli.Output) error {
	return c.report("compare.svg", compare.LossChart(all, axis), compare.Table(all).Text(), all, out)
}

// usage makes an error that was found before anything was trained one of the call.
func usage(err error) error {
	if setup := (*experiment.SetupError)(nil); errors.As(err, &setup) {
		return cli.Usage(err)
	}
	return err
}

// logTo shows how trainings go on.
func logTo(out cli.Output) compare.Log { return compare.Log{Note: out.Note, Steps: out.Stderr} }

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
	trainings, err := plan.Trainings(ctx, configList(c.configs))
	if err != nil {
		return usage(err)
	}
	all, err := compare.Train(ctx, trainings, logTo(out))
	if err != nil {
		return usage(err)
	}
	return c.show(all, axis, out)
}

// configList reads -config: files, each with the settings of its own after it.
func configList(text string) []compare.Config {
	var configs []compare.Config
	for _, item := range strings.Split(text, ",") {
		words := strings.Split(strings.TrimSpace(item), " ")
		file := words[0]
		if file == "" {
			continue
		}
		own := compare.Config{}
		for _, word := range words[1:] {
			switch {
			case strings.Contains(word, "="):
				own.Set = append(own.Set, word)
			case len(own.Set) == 0: // a space in the file's name
				file += " " + word
			}
		}
		own.File = file
		configs = append(configs, own)
	}
	return configs
}

// show draws all runs and prints them.
func (c *call) show(all []compare.Model, axis compare.Unit, out cli.Output) error {
	return c.report(compare.PictureName(all), compare.LossChart(all, axis), compare.Table(all).Text(), all, out)
}

// usage makes an error that was found before anything was trained one of the call.
func usage(err error) error {
	if setup := (*experiment.SetupError)(nil); errors.As(err, &setup) {
		return cli.Usage(err)
	}
	return err
}

// logTo shows how trainings go on.
func logTo(out cli.Output) experiment.Log { return experiment.Log{Note: out.Note, Steps: out.Stderr} }

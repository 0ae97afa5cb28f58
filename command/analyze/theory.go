package analyze

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/analysis/theory"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// counted are run configs whose models are counted, too.
type counted struct {
	Configs []string `yaml:"config" help:"count the parameters and FLOPs of run config <F> (a file, or a built-in one's name), too, in Table 7; may be repeated"`
}

// theoryCommand needs no model: it is about the paper.
func theoryCommand(zoo models.Zoo) cli.Command {
	var configs counted
	var o report.TheoryOptions
	d := &delivery{name: report.TheoryName}
	return cli.Command{
		Name:    report.TheoryName,
		Summary: "the RMT paper's tables and figures from its formulas, next to the numbers that it prints",
		Example: `
			analyze theory -out /tmp/theory
			analyze theory -config quickstart -config quickstart-transformer`,
		Settings: cli.Several{&configs, &o, d},
		Run: func(ctx context.Context, out cli.Output) (err error) {
			if o.Models, err = theoryModels(ctx, zoo, configs.Configs); err != nil {
				return cli.Usage(err)
			}
			return d.deliver(ctx, out, func() (*report.Report, error) { return report.Theory(o) })
		},
	}
}

// theoryModels reads configs whose models the paper's formulas can count.
func theoryModels(ctx context.Context, zoo models.Zoo, configs []string) ([]theory.Model, error) {
	var all []theory.Model
	for _, file := range configs {
		run, _, err := config.LoadContext(ctx, zoo, file, nil)
		if err != nil {
			return nil, err
		}
		if _, err := theory.CountResources(run.Name, run.Spec()); err != nil {
			return nil, errors.Wrap(err, "-config "+file)
		}
		all = append(all, theory.Model{Name: run.Name, Spec: run.Spec()})
	}
	return all, nil
}

package analyze

import (
	"context"
	"flag"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/theory"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// theoryName is the command that looks at no trained model.
const theoryName = "theory"

// theoryCommand needs no model: it is about the paper.
func theoryCommand(zoo models.Zoo) cli.Command {
	c := theoryCall{zoo: zoo}
	return cli.Command{
		Name:    theoryName,
		Summary: "the RMT paper's tables and figures from its formulas, beside what it prints",
		Example: []string{
			"go run ./cmd/analyze theory -out /tmp/theory",
			"go run ./cmd/analyze theory -config quickstart -config quickstart-transformer",
		},
		Notes: []string{
			"-out writes each table as Markdown and CSV, each figure as SVG and PNG, and one page of all.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

type theoryCall struct {
	zoo models.Zoo
	delivery
	seed    uint64
	configs cli.List
}

func (c *theoryCall) flags(flags *flag.FlagSet) {
	c.delivery.flags(flags)
	flags.Var(&c.configs, "config", "count the parameters and FLOPs of run config `F` (a file, or a built-in one's name), too, in Table 7; may be given more than once")
	flags.Uint64Var(&c.seed, "seed", 1, "seed the Monte-Carlo runs with `N`")
}

func (c *theoryCall) run(ctx context.Context, out cli.Output) error {
	if err := c.prepare(); err != nil {
		return err
	}
	further, err := c.models(ctx)
	if err != nil {
		return err
	}
	var results []theory.Result
	r, err := await(ctx, func() (_ *report, err error) {
		results, err = theory.All(c.seed, further...)
		return theoryReport(results), err
	})
	if err != nil {
		return err
	}
	if c.dir != "" {
		if err := theory.Write(c.dir, results); err != nil {
			return err
		}
		if err := c.writePage(r); err != nil {
			return err
		}
	}
	return c.print(r, out)
}

// models reads the configs.
func (c *theoryCall) models(ctx context.Context) ([]theory.Model, error) {
	var all []theory.Model
	for _, file := range c.configs {
		run, _, err := config.LoadContext(ctx, c.zoo, file, nil)
		if err != nil {
			return nil, cli.Usage(err)
		}
		if _, err := theory.CountResources(run.Name, run.Spec()); err != nil {
			return nil, cli.Usage(errors.Wrap(err, "-config "+file))
		}
		all = append(all, theory.Model{Name: run.Name, Spec: run.Spec()})
	}
	return all, nil
}

func theoryReport(results []theory.Result) *report {
	r := newReport("Theory of the Residual Matrix Transformer", "Mak & Flanigan 2025, arXiv 2506.22696: what the paper derives and counts, computed from its inputs")
	r.Analysis = theoryName
	for _, result := range results {
		r.add(result.Name(), result.Table().Title, strings.Join(result.Notes(), "\n\n"), result)
	}
	return r
}

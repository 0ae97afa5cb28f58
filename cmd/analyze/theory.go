package main

import (
	"context"
	"flag"
	"strings"

	"github.com/residua-go/residua/analysis/theory"
	"github.com/residua-go/residua/cmd/internal/cli"
)

// theoryCommand needs no model: it is about the paper.
func theoryCommand() cli.Command {
	var c theoryCall
	return cli.Command{
		Name:    "theory",
		Summary: "the RMT paper's tables and figures from its formulas, beside what it prints",
		Example: []string{"go run ./cmd/analyze theory -out /tmp/theory"},
		Notes: []string{
			"-out writes each table as Markdown and CSV, each figure as SVG and PNG, and one page of all.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

type theoryCall struct {
	delivery
	seed uint64
}

func (c *theoryCall) flags(flags *flag.FlagSet) {
	c.delivery.flags(flags)
	flags.Uint64Var(&c.seed, "seed", 1, "seed the Monte-Carlo runs with `N`")
}

func (c *theoryCall) run(ctx context.Context, out cli.Output) error {
	if err := c.prepare(); err != nil {
		return err
	}
	var results []theory.Result
	r, err := await(ctx, func() (_ *report, err error) {
		results, err = theory.All(c.seed)
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

func theoryReport(results []theory.Result) *report {
	r := newReport("Theory of the Residual Matrix Transformer", "Mak & Flanigan 2025, arXiv 2506.22696: what the paper derives and counts, computed from its inputs")
	r.Analysis = "theory"
	for _, result := range results {
		r.add(result.Name(), result.Table().Title, strings.Join(result.Notes(), "\n\n"), result)
	}
	return r
}

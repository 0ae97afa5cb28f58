package report

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/theory"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// Theory computes the RMT paper's tables and figures from its formulas. Its fields say which models
// are counted besides the paper's own.
type Theory struct {
	Configs []string   `yaml:"config" local:"true" help:"count parameters and FLOPs of run config <F>, a file or a built-in one, in Table 7, too; may be repeated"`
	Seed    uint64     `yaml:"seed" default:"1" help:"seed the Monte-Carlo runs with <N>"`
	zoo     models.Zoo // of the configs
}

// Name is theory.
func (Theory) Name() string { return "theory" }

// Card describes Theory.
func (Theory) Card() Card {
	return Card{
		Summary: "the RMT paper's tables and figures from its formulas, next to the numbers that it prints",
		Example: `
			analyze theory -out /tmp/theory
			analyze theory -config quickstart -config quickstart-transformer`,
		Paper: true,
	}
}

// Run computes the tables and figures; it needs no model.
func (o Theory) Run(ctx context.Context, _ *Model) (*Report, error) {
	var counted []theory.Model
	for _, file := range o.Configs {
		run, _, err := runconfig.LoadContext(ctx, o.zoo, file, nil)
		if err != nil {
			return nil, err
		}
		if _, err := theory.CountResources(run.Name, run.Spec()); err != nil {
			return nil, errors.Wrap(err, "config: "+file)
		}
		counted = append(counted, theory.Model{Name: run.Name, Spec: run.Spec()})
	}
	results, err := theory.All(o.Seed, counted...)
	if err != nil {
		return nil, err
	}
	r := New("Theory of the Residual Matrix Transformer", "Mak & Flanigan 2025, arXiv 2506.22696: what the paper derives and counts, computed from its inputs")
	for _, result := range results {
		r.Add(result.Name, result.Of.Table().Title, result.Notes, result.Of)
	}
	return r, nil
}

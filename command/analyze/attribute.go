package analyze

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func attribute(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAttribute,
		Summary: "a logit as a sum over all that wrote to the stream: tables, heads, neurons",
		Example: []string{
			"go run ./cmd/analyze attribute -checkpoint runs/quickstart",
			`go run ./cmd/analyze attribute -checkpoint runs/quickstart -prompt "if err != " -target n -against e -out /tmp/attribute`,
		},
		Notes: []string{
			"Direct logit attribution (Elhage et al. 2021): the terms add up to the model's own logit,",
			"with mixing coefficients, gates and norms' scales as they were in the run.",
		},
	}, &attributeCall{})
}

type attributeCall struct {
	prompt
	target
	place
	top int
}

func (c *attributeCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	c.target.flags(flags)
	c.target.againstFlag(flags)
	c.place.flags(flags)
	flags.IntVar(&c.top, "top", 20, "list the `N` largest contributions")
}

func (c *attributeCall) report(s *subject) (*report, error) {
	if err := checkTop(c.top); err != nil {
		return nil, err
	}
	if err := c.place.check(s.Spec); err != nil {
		return nil, err
	}
	ids, err := c.read(s, 1)
	if err != nil {
		return nil, err
	}
	d, a, err := c.decompose(s, ids)
	if err != nil {
		return nil, err
	}
	attribution, err := d.Attribute(a.token, a.target, a.against)
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Attribution", ids)
	p := r.add("attribution", "What wrote the logit",
		"Each head, neuron, expert, table or bias that writes to the residual stream adds its term to a logit. The terms add up to the model's own.", attribution)
	p.rename(p.table.Title, a.title())
	p.table = c.table(attribution, a.title())
	return r, nil
}

// decompose runs the model on a prompt, takes the run apart and finds what to look at.
func (t *target) decompose(s *subject, ids []int32) (*analysis.Decomposition, aim, error) {
	names, err := analysis.DecompositionNames(s.Store, s.Spec)
	if err != nil {
		return nil, aim{}, err
	}
	run, err := s.run(ids, names)
	if err != nil {
		return nil, aim{}, err
	}
	a, err := t.find(s, run)
	if err != nil {
		return nil, aim{}, err
	}
	d, err := analysis.Decompose(run)
	return d, a, err
}

// table lists the largest of the chosen contributions.
func (c *attributeCall) table(a *analysis.Attribution, title string) figure.Table {
	t := figure.Table{Title: title, Header: []string{"what wrote it", "contribution"}, Align: "lr"}
	chosen := slices.DeleteFunc(slices.Clone(a.Contributions), func(x analysis.Contribution) bool {
		return !c.holdsPart(x.Writer, x.Part, x.Index)
	})
	slices.SortStableFunc(chosen, func(x, y analysis.Contribution) int {
		return cmp.Compare(math.Abs(y.Value), math.Abs(x.Value))
	})
	rest, listed := a.Sum, chosen[:min(c.top, len(chosen))]
	for _, x := range listed {
		t.Rows = append(t.Rows, []string{x.Name(), number(x.Value)})
		rest -= x.Value
	}
	others := fmt.Sprintf("all else (%d terms)", len(a.Contributions)-len(listed))
	t.Rows = append(t.Rows, []string{others, number(rest)}, []string{"sum", number(a.Sum)}, []string{"the model's own", number(a.Logit)})
	return t
}

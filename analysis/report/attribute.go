package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// defaultTop is how many rows a table of the largest has.
const defaultTop = 20

// AttributeOptions say which logit is taken apart, and which of its terms are listed.
type AttributeOptions struct {
	Prompt
	Target
	Place
	Top     int      // how many of the largest contributions are listed; 0: 20
	Prompts []string // in the place of Prompt: contributions are averaged over them, each to the logit of its own run
}

// Attribute reports a logit as a sum over all that wrote to the stream.
func Attribute(m *Model, o AttributeOptions) (*Report, error) {
	at, err := o.Place.in(m.Spec)
	if err != nil {
		return nil, err
	}
	if o.Prompts != nil {
		return attributeOver(m, o, at)
	}
	ids, err := o.Prompt.read(m, 1, false)
	if err != nil {
		return nil, err
	}
	d, a, err := o.Target.decompose(m, ids)
	if err != nil {
		return nil, err
	}
	attribution, err := d.Attribute(a.token, a.target, a.against)
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisAttribute, "Attribution", ids)
	p := r.Add("attribution", "What wrote the logit",
		"Each head, neuron, expert, table or bias that writes to the residual stream adds its term to a logit. The terms add up to the model's own.", attribution)
	p.rename(p.Table.Title, a.metric().Name)
	p.Table = largestContributions(attribution, at, cmp.Or(o.Top, defaultTop), p.Table.Title)
	return r, nil
}

// attributeOver averages contributions over prompts.
func attributeOver(m *Model, o AttributeOptions, at place) (*Report, error) {
	averages, err := overPrompts(m, o.Prompts, o.Prompt, 1, func(ids []int32) ([]value, error) {
		d, a, err := o.Target.decompose(m, ids)
		if err != nil {
			return nil, err
		}
		attribution, err := d.Attribute(a.token, a.target, a.against)
		if err != nil {
			return nil, err
		}
		var values []value
		for _, c := range attribution.Contributions {
			if at.hasPart(c.Writer, c.Part, c.Index) {
				values = append(values, value{c.Name(), c.Value})
			}
		}
		return append(values, value{"norms' biases", attribution.Constant}), nil
	})
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisAttribute, "Attribution", nil)
	r.addAverages("average", "What wrote the logits", "Each term's contribution to the logit of each prompt's target.", "contribution to the logit", averages, o.Top)
	return r, nil
}

// decompose runs the model on a prompt, takes the run apart and finds what to look at.
func (t Target) decompose(m *Model, ids []int32) (*analysis.Decomposition, aim, error) {
	names, err := analysis.DecompositionNames(m.Store, m.Spec)
	if err != nil {
		return nil, aim{}, err
	}
	run, err := m.run(ids, names)
	if err != nil {
		return nil, aim{}, err
	}
	a, err := t.find(m, run)
	if err != nil {
		return nil, aim{}, err
	}
	d, err := analysis.Decompose(run)
	return d, a, err
}

// largestContributions lists the largest of the contributions at a place.
func largestContributions(a *analysis.Attribution, at place, top int, title string) figure.Table {
	t := figure.Table{Title: title, Header: []string{"what wrote it", "contribution"}, Align: "lr"}
	chosen := slices.DeleteFunc(slices.Clone(a.Contributions), func(x analysis.Contribution) bool {
		return !at.hasPart(x.Writer, x.Part, x.Index)
	})
	slices.SortStableFunc(chosen, func(x, y analysis.Contribution) int {
		return cmp.Compare(math.Abs(y.Value), math.Abs(x.Value))
	})
	rest, listed := a.Sum, chosen[:min(top, len(chosen))]
	for _, x := range listed {
		t.Rows = append(t.Rows, []string{x.Name(), number(x.Value)})
		rest -= x.Value
	}
	others := fmt.Sprintf("all else (%d terms)", len(a.Contributions)-len(listed))
	t.Rows = append(t.Rows, []string{others, number(rest)}, []string{"sum", number(a.Sum)}, []string{"the model's own", number(a.Logit)})
	return t
}

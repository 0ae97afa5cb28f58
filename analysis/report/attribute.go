package report

import (
	"context"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// Attribute is a logit as a sum over all that wrote to the stream: which logit, and which of its
// terms are listed.
type Attribute struct {
	Prompt
	Contrast
	Place
	// 0: 20
	Top int `yaml:"top" default:"20" min:"1" max:"1000000" help:"list the <N> largest contributions"`
	// contributions are averaged over them, each to the logit of its own run
	Prompts Prompts `yaml:"prompts" help:"average over the prompts of <FILE>, each line's text; of a .jsonl, each line's string, or its object's \"prompt\""`
}

// Name is attribute.
func (Attribute) Name() string { return "attribute" }

// Card describes Attribute.
func (Attribute) Card() Card {
	return Card{
		Summary: "a logit as a sum over all that wrote to the stream: tables, heads, neurons",
		Example: `
			analyze attribute -checkpoint runs/quickstart
			analyze attribute -checkpoint runs/quickstart -prompt "if err != " -target n -against e -out /tmp/attribute
			analyze attribute -checkpoint runs/quickstart -prompts prompts.txt    # means over prompts, standard errors`,
		Notes: `
			Direct logit attribution (Elhage et al. 2021): the terms add up to the model's own logit,
			with mixing coefficients, gates and norms' scales as they were in the run. -layer, -head and -top
			choose the heads and neurons that are listed; the table by site has all.`,
	}
}

// Run reports a logit as a sum over all that wrote to the stream.
func (o Attribute) Run(ctx context.Context, m *Model) (*Report, error) {
	at, err := o.Place.in(m.Spec)
	if err != nil {
		return nil, err
	}
	if o.Prompts != nil {
		return o.over(ctx, m, at)
	}
	ids, err := o.Prompt.Read(m, 1)
	if err != nil {
		return nil, err
	}
	run, a, attribution, err := o.attribute(m, ids)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Attribution", ids)
	r.Add("answer", "What the model says", "The likeliest tokens and their probabilities.", m.answer(run, a))
	r.Add("attribution", "What wrote the logit, by site",
		"Each head, neuron, expert, table or bias that writes to the residual stream adds its term to a logit. The terms add up to the model's own.", attribution)
	for _, g := range groups(attribution, at)[1:] {
		r.Add(g.name, "What wrote the logit, "+g.by, "The largest terms.", analysis.Rank(attribution.Name+", "+g.by, g.terms, o.Top))
	}
	return r, r.err
}

// Curves are the contributions of sites and of heads to the logit of the target, which must be set.
func (o Attribute) Curves(_ *Model, r *Report) (all []Curve, err error) {
	if err := o.Contrast.fixed(); err != nil {
		return nil, err
	}
	const unit = "contribution to the logit, "
	if a, one := r.Results["attribution"].(*analysis.Attribution); one {
		for _, g := range groups(a, place{-1, -1}) {
			for _, c := range g.terms {
				if g.name != "parts" {
					all = append(all, Curve{c.Name(), unit + g.by, c.Value, nil})
				}
			}
		}
		return all, nil
	}
	for _, p := range r.Parts {
		if p.Name != "parts" {
			all = append(all, r.Results[p.Name].(*Averages).curves(unit+"by "+strings.TrimSuffix(p.Name, "s"))...)
		}
	}
	return all, nil
}

// attribute runs the model on a prompt and attributes the logit that is aimed at.
func (o Attribute) attribute(m *Model, ids []int32) (*cache.Cache, aim, *analysis.Attribution, error) {
	run, d, a, err := o.Contrast.decompose(m, ids)
	if err != nil {
		return nil, a, nil, err
	}
	attribution, err := d.Attribute(a.token, a.target, a.against)
	if err == nil {
		attribution.Name = a.metric().Name
	}
	return run, a, attribution, err
}

// group is a set of contributions with a table of their own.
type group struct {
	name, by string // "heads", "by head"
	terms    []analysis.Contribution
}

// groups returns the sites; the heads at a place; and all other parts there. Kinds of parts that do
// not occur are left out.
func groups(a *analysis.Attribution, at place) []group {
	heads, others := group{name: "heads", by: "by head"}, group{name: "parts"}
	var kinds []string
	for _, c := range a.Contributions {
		switch {
		case c.Part == "" || !at.hasPart(c.Writer, c.Part, c.Index):
		case c.Part == stream.HeadPart:
			heads.terms = append(heads.terms, c)
		default:
			others.terms = append(others.terms, c)
			if !slices.Contains(kinds, c.Part) {
				kinds = append(kinds, c.Part)
			}
		}
	}
	others.by = "by " + strings.Join(kinds, " and ")
	sites := append(a.ByWriter(), analysis.Contribution{Writer: "norms' biases", Value: a.Constant})
	all := []group{{"sites", "by site", sites}, heads, others}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.terms) == 0 })
}

// over averages contributions over prompts.
func (o Attribute) over(ctx context.Context, m *Model, at place) (*Report, error) {
	var like []group // of any prompt
	rows, err := m.texts(ctx, o.Prompt, o.Prompts, 0, 1)
	if err != nil {
		return nil, err
	}
	averages, err := average(ctx, rows, func(_ int, ids []int32) ([]value, error) {
		_, _, attribution, err := o.attribute(m, ids)
		if err != nil {
			return nil, err
		}
		like = groups(attribution, at)
		var values []value
		for _, g := range like {
			for _, c := range g.terms {
				values = append(values, value{c.Name(), c.Value})
			}
		}
		return values, nil
	})
	if err != nil {
		return nil, err
	}
	r, of := m.NewReport("Attribution", nil), averages.Of
	for _, g := range like {
		some := &Averages{Prompts: averages.Prompts, Of: of[:len(g.terms)]}
		r.addAverages(g.name, "What wrote the logits, "+g.by, "Each term's contribution to the logit of each prompt's target.", "contribution to the logit, "+g.by,
			some, o.Top)
		of = of[len(g.terms):]
	}
	return r, nil
}

// decompose runs the model on a prompt, decomposes the run and finds the token and the ids to look
// at.
func (t Contrast) decompose(m *Model, ids []int32) (*cache.Cache, *analysis.Decomposition, aim, error) {
	run, err := analysis.Run(m.Store, m.Spec, ids)
	if err != nil {
		return nil, nil, aim{}, err
	}
	a, err := t.find(m, run)
	if err != nil {
		return nil, nil, aim{}, err
	}
	d, err := analysis.Decompose(run)
	return run, d, a, err
}

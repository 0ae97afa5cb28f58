package report

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis"
)

// Lens is the logit lens: what the model would say if the stream were read out early. Its fields
// say for which token of a prompt.
type Lens struct {
	Prompt
	Target
	Tuned
}

// Name is lens.
func (Lens) Name() string { return "lens" }

// Card describes Lens.
func (Lens) Card() Card {
	return Card{
		Summary: "the logit lens: what the model would say if nothing more were written",
		Example: `
			analyze lens -checkpoint runs/quickstart
			analyze lens -checkpoint runs/quickstart -prompt "if err != " -target n -out /tmp/lens
			analyze lens -checkpoint runs/quickstart -tuned -out /tmp/tuned    # a tuned lens, trained in a minute
			analyze lens -checkpoint runs/quickstart -tuned-file /tmp/tuned/` + TunedFile + ` -prompt "func "`,
		Notes: `
			The stream after each sublayer is read out by the final norm and the unembedding; of the
			matrix stream also each key direction of the readout alone. -tuned trains an affine map for
			each writer, so that what is read out is as near as it can be to what the model says at its
			end (Belrose et al. 2023); -out keeps the maps, -tuned-file looks through them again.`,
	}
}

// Run reports what the model would say if the stream were read out early.
func (o Lens) Run(ctx context.Context, m *Model) (*Report, error) {
	ids, err := o.Prompt.Read(m, 2)
	if err != nil {
		return nil, err
	}
	_, d, a, err := Contrast{Target: o.Target}.decompose(m, ids)
	if err != nil {
		return nil, err
	}
	every, _ := d.LensMap() // of two tokens or more
	r := m.NewReport("Logit lens", ids)
	r.part("lens", "At one token", "What the model would say of one token if the stream were read out early: after each writer, in the order of the run.")(
		m.lens(d, a, "logit lens"))
	r.addGrid(m, every.Grid(), ids)
	r.Add("map", "At every token", "The probability of each token's true successor, read out after each writer.", every).LabelTokens(m, ids)
	return r, cmp.Or(r.err, o.Tuned.add(ctx, r, m, d, a, ids))
}

// Curves are the loss after each writer, a mean over the prompt, and the probability of the target
// if one is set.
func (o Lens) Curves(m *Model, r *Report) (all []Curve, err error) {
	every := r.Results["map"].(*analysis.LensMap)
	for i, after := range every.After {
		all = append(all, Curve{after, lossUnit + " after each writer", stat.Mean(every.Loss[i], nil), m.evenLoss()})
	}
	if one := r.Results["lens"].(*analysis.Lens); o.Target.Target != "" {
		for _, p := range one.Points {
			all = append(all, Curve{p.After, "probability of the target after each writer", p.Probability, new(1 / float64(m.Spec.Vocab))})
		}
	}
	return all, nil
}

// lens looks at the chosen token.
func (m *Model) lens(d *analysis.Decomposition, a aim, name string) (*analysis.Lens, error) {
	one, err := d.Lens(a.token, a.target)
	if err == nil {
		one.Name, one.Of, one.Spell = name+" on "+a.what, m.word(a.target), m.text
	}
	return one, err
}

// gridShown is the number of tokens for which a terminal shows a grid.
const gridShown = 8

// addGrid adds the likeliest tokens after each writer.
func (r *Report) addGrid(m *Model, g *analysis.LensGrid, ids []int32) {
	g.Spell = m.text
	p := r.Add("grid", "What it would say", "The likeliest next token at every token, read out after each writer, and its probability.", g)
	p.LabelTokens(m, ids)
	if len(ids) > gridShown {
		brief := g.Last(gridShown).Table()
		brief.Title += fmt.Sprintf(", at the last %d tokens", gridShown)
		p.Brief = &brief
	}
}

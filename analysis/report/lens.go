package report

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/analysis"
)

// LensOptions say which token of a prompt the logit lens looks at.
type LensOptions struct {
	Prompt
	Target
	Tuned
}

// Lens reports what the model would say if the stream were read out early.
func Lens(m *Model, o LensOptions) (*Report, error) {
	ids, err := o.Prompt.read(m, 2, false)
	if err != nil {
		return nil, err
	}
	_, d, a, err := Contrast{Target: o.Target}.decompose(m, ids)
	if err != nil {
		return nil, err
	}
	every, err := d.LensMap()
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisLens, "Logit lens", ids)
	r.part("lens", "At one token", "What the model would say of one token if the stream were read out early: after each writer, in the order of the run.")(
		m.lens(d, a, "logit lens"))
	r.addGrid(m, every.Grid(), ids)
	r.Add("map", "At every token", "The probability of each token's true successor, read out after each writer.", every).labelTokens(m, ids)
	return r, cmp.Or(r.err, o.Tuned.add(r, m, d, a, ids))
}

// lens looks at what is aimed at.
func (m *Model) lens(d *analysis.Decomposition, a aim, name string) (*analysis.Lens, error) {
	one, err := d.Lens(a.token, a.target)
	if err == nil {
		one.Name, one.Of, one.Spell = name+" on "+a.what, m.word(a.target), m.text
	}
	return one, err
}

// gridShown is how many tokens of a grid a terminal shows.
const gridShown = 8

// addGrid adds the likeliest tokens after each writer.
func (r *Report) addGrid(m *Model, g *analysis.LensGrid, ids []int32) {
	g.Spell = m.text
	p := r.Add("grid", "What it would say", "The likeliest next token at every token, read out after each writer, and its probability.", g)
	p.labelTokens(m, ids)
	if len(ids) > gridShown {
		brief := g.Last(gridShown).Table()
		brief.Title += fmt.Sprintf(", at the last %d tokens", gridShown)
		p.Brief = &brief
	}
}

package report

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// Averages holds numbers that an analysis computes for each of several prompts, averaged over the
// prompts.
type Averages struct {
	What    string    `json:"what"` // the numbers are
	Prompts int       `json:"prompts"`
	Of      []Average `json:"of"`

	top  int    // how many are shown
	unit string // what was averaged over; "": prompts
}

// Average is the average of one number.
type Average struct {
	Name string `json:"name"` // "blocks.3.attention.1"
	numerics.Estimate
	Values []float64 `json:"values"` // in the order of the prompts
}

// value is a number for one prompt.
type value struct {
	name string
	of   float64
}

// headValues returns the effects of a sweep over heads.
func headValues(s *analysis.Sweep) []value {
	var values []value
	for i, row := range s.Effect {
		for j, v := range row {
			values = append(values, value{s.HeadName(i, j), v})
		}
	}
	return values
}

// ofPrompt returns an error about one of several prompts.
func ofPrompt(i int, err error) error { return errors.WithMessagef(err, "prompts: prompt %d", i+1) }

func bothGiven() error {
	return check.Value("prompts", "a list of prompts, or one prompt", "both")
}

// average averages what one returns for each of several prompts, which must be the same names in
// the same order.
func average[P any](ctx context.Context, prompts []P, one func(i int, p P) ([]value, error)) (*Averages, error) {
	n := len(prompts)
	if n < 2 {
		return nil, check.Value("prompts", "at least 2, for a standard error", n)
	}
	a := &Averages{Prompts: n}
	for i, p := range prompts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		values, err := one(i, p)
		if err != nil {
			return nil, ofPrompt(i, err)
		}
		for j, v := range values {
			if i == 0 {
				a.Of = append(a.Of, Average{Name: v.name})
			}
			a.Of[j].Values = append(a.Of[j].Values, v.of)
		}
	}
	for i := range a.Of {
		a.Of[i].Estimate = numerics.NewEstimate(a.Of[i].Values)
	}
	return a, nil
}

// addAverages adds averages; a table and a figure show the largest of them.
func (r *Report) addAverages(name, heading, text, what string, a *Averages, top int) {
	a.What, a.top = what, top
	r.Add(name, heading, text+" Means over the prompts, with their standard errors.", a)
}

// largest returns the averages farthest from 0, farthest first.
func (a *Averages) largest() []Average {
	return figure.Largest(a.Of, a.top, func(x Average) float64 { return math.Abs(x.Mean) })
}

func (a *Averages) title() string {
	title := fmt.Sprintf("%s, mean over %d %s", a.What, a.Prompts, cmp.Or(a.unit, "prompts"))
	if rest := len(a.Of) - a.top; rest > 0 {
		title += fmt.Sprintf(": the %d largest of %d", a.top, len(a.Of))
	}
	return title
}

// curves returns the means as curves of a unit.
func (a *Averages) curves(unit string) (all []Curve) {
	for _, x := range a.Of {
		all = append(all, Curve{x.Name, unit, x.Mean, nil})
	}
	return all
}

// Table lists the largest.
func (a *Averages) Table() figure.Table {
	t := figure.NewTable(a.title(), "lrr", "what", "mean", "standard error")
	for _, x := range a.largest() {
		t.Row(x.Name, x.Mean, x.StandardError)
	}
	return t
}

// Figures are bars of the largest, with bars of their standard errors.
func (a *Averages) Figures() []figure.Figure {
	b := figure.Bars{Title: a.title(), YLabel: "mean ± standard error"}
	for _, x := range a.largest() {
		b.Add(x.Name, x.Mean, x.StandardError)
	}
	return []figure.Figure{b}
}

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/residua-go/residua/figure"
)

// Curve is a number of a report that Over follows over the steps of training.
type Curve struct {
	Name   string   `json:"name"` // "blocks.2.attention.5"
	Unit   string   `json:"unit"` // what the number is, "induction score"; curves of one unit share a chart
	Value  float64  `json:"value"`
	Chance *float64 `json:"chance,omitempty"` // the number without anything learned; nil: it is not known
}

// Followed is an Analysis whose numbers Over follows.
type Followed interface {
	Analysis
	// Curves returns numbers of a report of the analysis on the model, with the same names and units
	// at each step. It returns an error if the settings leave open what is measured at each step.
	Curves(m *Model, r *Report) ([]Curve, error)
}

// lossUnit is the unit of losses, whose chance is the loss of a model that finds all tokens equally
// likely, the logarithm of their number.
const lossUnit = "loss (nats a token)"

func (m *Model) evenLoss() *float64 { return new(math.Log(float64(m.Spec.Vocab))) }

// OverSteps holds the curves of one unit over the steps of a run.
type OverSteps struct {
	Unit   string      `json:"unit"`
	Steps  []int       `json:"steps"`
	Chance *float64    `json:"chance,omitempty"` // of the curves
	Curves []StepCurve `json:"curves"`
}

// StepCurve is a number, step by step.
type StepCurve struct {
	Name   string         `json:"name"`
	Values figure.Numbers `json:"values"` // NaN: a step does not have it
}

// unitsOf sorts the curves of all steps by their units.
func unitsOf(steps []keptStep) (all []*OverSteps) {
	for i, s := range steps {
		for _, c := range s.Curves {
			u := slices.IndexFunc(all, func(o *OverSteps) bool { return o.Unit == c.Unit })
			if u < 0 {
				u, all = len(all), append(all, &OverSteps{Unit: c.Unit, Chance: c.Chance})
				for _, s := range steps {
					all[u].Steps = append(all[u].Steps, s.Step)
				}
			}
			all[u].set(c.Name, i, c.Value)
		}
	}
	return all
}

// set sets the value of a curve at step number i.
func (o *OverSteps) set(name string, i int, value float64) {
	at := slices.IndexFunc(o.Curves, func(c StepCurve) bool { return c.Name == name })
	if at < 0 {
		at, o.Curves = len(o.Curves), append(o.Curves, StepCurve{name, slices.Repeat(figure.Numbers{math.NaN()}, len(o.Steps))})
	}
	o.Curves[at].Values[i] = value
}

// file returns the unit as the name of a part's files: "loss-nats-a-token".
func (o *OverSteps) file() string {
	return strings.Join(strings.FieldsFunc(o.Unit, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
}

// curvesDrawn is the number of curves in a chart, and in a terminal's table.
const curvesDrawn = 6

// largest returns the curves that change most over the steps.
func (o *OverSteps) largest() []StepCurve {
	return figure.Largest(o.Curves, curvesDrawn, func(c StepCurve) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range c.Values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		return high - low
	})
}

// Table has a row for each step and a column for each curve.
func (o *OverSteps) Table() figure.Table { return o.table(o.Curves) }

func (o *OverSteps) table(of []StepCurve) figure.Table {
	t := figure.NewTable(o.Unit+" over training", "r"+strings.Repeat("r", len(of)), "step")
	if n := len(o.Curves) - len(of); n > 0 {
		t.Title += fmt.Sprintf(": the %d curves of %d that change most", len(of), len(o.Curves))
	}
	if o.Chance != nil {
		t.Note = fmt.Sprintf("Without anything learned: %.4g.", *o.Chance)
	}
	for _, c := range of {
		t.Header = append(t.Header, c.Name)
	}
	for i, step := range o.Steps {
		cells := []any{step}
		for _, c := range of {
			cells = append(cells, c.Values[i])
		}
		t.Row(cells...)
	}
	return t
}

// Figures returns the curves that change most over the steps, on a logarithmic axis that has a place
// for step 0.
func (o *OverSteps) Figures() []figure.Figure {
	l := figure.Lines{Title: o.table(o.largest()).Title, XLabel: "step + 1", YLabel: o.Unit, LogX: true}
	var x figure.Numbers
	for _, step := range o.Steps {
		x = append(x, float64(step+1))
	}
	for _, c := range o.largest() {
		l.Series = append(l.Series, figure.Series{Name: c.Name, X: x, Y: c.Values, Marks: true})
	}
	if o.Chance != nil {
		l.Series = append(l.Series, figure.Series{Name: "chance", X: x, Y: slices.Repeat(figure.Numbers{*o.Chance}, len(x))})
	}
	return []figure.Figure{l}
}

package analysis

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Table lists what each writer contributes, in the order of the run, all its parts together.
func (a *Attribution) Table() figure.Table {
	t := figure.NewTable(a.Name+", by site", "lr", "what wrote it", "contribution")
	t.Note = "The terms add up to the model's own logit, but for rounding. norms' biases: what the biases of norms on the\n" +
		"way to the end add."
	for _, c := range a.ByWriter() {
		t.Row(c.Name(), c.Value)
	}
	t.Row("norms' biases", a.Constant)
	t.Row("sum", a.Sum)
	t.Row("the model's own", a.Logit)
	return t
}

// Figures are bars of the writers, and a map of the heads.
func (a *Attribution) Figures() []figure.Figure {
	bars := figure.NewBars("Contributions to the "+a.Name, "contribution")
	for _, c := range a.ByWriter() {
		bars.Add(c.Writer, c.Value)
	}
	bars.Add("norms' biases", a.Constant)
	figures := []figure.Figure{bars}
	if heads := a.heads(); len(heads.Values) > 0 {
		figures = append(figures, heads)
	}
	return figures
}

// heads maps the heads' contributions, a row a layer.
func (a *Attribution) heads() figure.Heatmap {
	h := figure.Heatmap{Title: "Heads' contributions to the " + a.Name, XLabel: "head", YLabel: "layer", Diverging: true}
	for _, c := range a.Contributions {
		if c.Part != stream.HeadPart {
			continue
		}
		if c.Index == 0 {
			h.Add(c.Writer, nil)
		}
		last := len(h.Values) - 1
		h.Values[last] = append(h.Values[last], c.Value)
	}
	return h
}

// Ranking is the largest of some of a logit's contributions.
type Ranking struct {
	Name    string         `json:"name"`    // "logit of 290, token 7, by head"
	Largest []Contribution `json:"largest"` // largest first, above or below 0
	Count   int            `json:"count"`   // of all of them
	Sum     float64        `json:"sum"`     // of all of them
}

// Rank returns the n largest of some contributions.
func Rank(name string, of []Contribution, n int) *Ranking {
	size := func(c Contribution) float64 { return math.Abs(c.Value) }
	r := &Ranking{Name: name, Largest: figure.Largest(of, n, size), Count: len(of)}
	for _, c := range of {
		r.Sum += c.Value
	}
	return r
}

// Table lists them, and what the others contribute together.
func (r *Ranking) Table() figure.Table {
	t := figure.NewTable(r.Name, "lr", "what wrote it", "contribution")
	others := r.Sum
	for _, c := range r.Largest {
		t.Row(c.Name(), c.Value)
		others -= c.Value
	}
	if n := r.Count - len(r.Largest); n > 0 {
		t.Row(fmt.Sprintf("the other %d together", n), others)
	}
	if r.Count > 1 {
		t.Row(fmt.Sprintf("all %d", r.Count), r.Sum)
	}
	return t
}

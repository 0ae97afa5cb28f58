package analysis

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/figure"
)

// Table lists the orders, the sublayers' paths of one step and, if they were measured, the heads'
// and the virtual heads' that change the loss most.
func (p *PathExpansion) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("loss of the next token by the longest path, patterns of attention held (%d rows, %d tokens; the model %v)", p.Rows, p.Tokens, p.Model), "lrrrrr",
		"paths", "how many", "loss", "gain", "share of all gains", "gain a path")
	t.Note = "steps: the sublayers that a path goes through. loss: with all paths of at most that many steps; gain: what\n" +
		"the longest of them take off it. alone: the gain of one sublayer next to the direct path; last: next to all\n" +
		"other paths of one step. A virtual head is two heads, one of which reads what the other has written."
	for _, o := range p.Orders {
		if o.Steps == 0 {
			t.Row("direct path", "1", o.Loss, "", "", "")
			continue
		}
		name := fmt.Sprintf("of %d steps", o.Steps)
		if o.Steps == 1 {
			name = "of 1 step"
		}
		t.Row(name, o.Paths, o.Loss, o.Gain, fmt.Sprintf("%.1f%%", 100*o.Share), o.Gain.Mean/o.Paths)
	}
	for _, s := range p.Steps {
		t.Row("1 step, "+s.Site, "", "", "alone "+s.Alone.String(), "last "+s.Last.String(), "")
	}
	addHeadPaths(&t, "head", p.Heads)
	addHeadPaths(&t, "virtual head", p.Pairs)
	return t
}

// addHeadPaths adds a row for each of the paths that change the loss most.
func addHeadPaths(t *figure.Table, kind string, paths []HeadPath) {
	for _, h := range figure.Largest(paths, listed, func(h HeadPath) float64 { return math.Abs(h.Gain.Mean) }) {
		name := kind + " " + h.First
		if h.Second != "" {
			name += ", read by " + h.Second
		}
		t.Row(name, "1", "", h.Gain, "", "")
	}
}

// Figures shows the gains by order, the gains of the paths of one step and, if they were measured,
// the gains of heads and virtual heads.
func (p *PathExpansion) Figures() []figure.Figure {
	orders := figure.NewBars("What the paths of each number of steps take off the loss", "nats ± standard error")
	for _, o := range p.Orders[min(1, len(p.Orders)):] {
		orders.Add(fmt.Sprint(o.Steps), o.Gain.Mean, o.Gain.StandardError)
	}
	steps := figure.NewBars("What the paths of one step take off the loss, by sublayer", "nats", "alone, next to the direct path", "last, next to all paths of one step")
	for _, s := range p.Steps {
		steps.AddGroup(s.Site, s.Alone.Mean, s.Last.Mean)
	}
	figures := []figure.Figure{orders, steps}
	if len(p.Heads) > 0 {
		heads := figure.NewBars("What each head's path of one step takes off the loss", "nats ± standard error")
		for _, h := range p.Heads {
			heads.Add(h.First, h.Gain.Mean, h.Gain.StandardError)
		}
		figures = append(figures, heads)
	}
	if len(p.Pairs) > 0 {
		figures = append(figures, p.pairMap())
	}
	return figures
}

// pairMap are the virtual heads' gains.
func (p *PathExpansion) pairMap() figure.Heatmap {
	m := figure.Heatmap{Title: "What each virtual head takes off the loss of all paths of one step, in nats", XLabel: "second head", YLabel: "first head", Diverging: true}
	for _, pair := range p.Pairs {
		m.Set(pair.First, pair.Second, pair.Gain.Mean)
	}
	return m
}

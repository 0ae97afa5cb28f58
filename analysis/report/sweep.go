package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// sweep is a sweep over places as a report shows it.
type sweep struct {
	effects *analysis.Sweep
	whole   Result  // that holds effects
	ids     []int32 // of the prompt whose tokens are the columns; nil: columns are heads
	top     int     // how many effects the terminal lists
}

// addSweep adds a sweep; the terminal shows the largest effects alone.
func (r *Report) addSweep(m *Model, name, heading, text string, of sweep) *Part {
	p, columns, axis := r.Add(name, heading, text, of.whole), of.effects.Columns, "head"
	if of.ids != nil {
		axis, columns = tokenAxis, inWords(of.effects.Columns, m.words(of.ids))
		p.labelTokens(m, of.ids)
		p.Table.Header = append(p.Table.Header[:1:1], columns...)
	}
	p.Brief = largestEffects(of.effects, p.Table.Title, axis, columns, of.top)
	return p
}

// largestEffects lists the places of the largest effects, largest first.
func largestEffects(s *analysis.Sweep, title, column string, columns []string, top int) *figure.Table {
	type effect struct {
		row, column string
		value       float64
	}
	var effects []effect
	for i, row := range s.Effect {
		for j, v := range row {
			effects = append(effects, effect{s.Rows[i], columns[j], v})
		}
	}
	slices.SortStableFunc(effects, func(x, y effect) int { return cmp.Compare(math.Abs(y.value), math.Abs(x.value)) })
	t := &figure.Table{Title: title + ": the largest", Header: []string{"activation", column, "effect"}, Align: "llr"}
	for _, e := range effects[:min(top, len(effects))] {
		t.Rows = append(t.Rows, []string{e.row, e.column, number(e.value)})
	}
	return t
}

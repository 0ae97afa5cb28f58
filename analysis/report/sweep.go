package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

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
	p := r.Add(name, heading, text, of.whole)
	header, place := []string{"head"}, func(i, j int) []any { return []any{of.effects.HeadName(i, j)} }
	if of.ids != nil {
		tokens := inWords(of.effects.Columns, m.words(of.ids))
		p.labelTokens(m, of.ids)
		p.Table.Header = append(p.Table.Header[:1:1], tokens...)
		header, place = []string{"activation", tokenAxis}, func(i, j int) []any { return []any{of.effects.Rows[i], tokens[j]} }
	}
	p.Brief = largestEffects(of, p.Table.Title, header, place)
	return p
}

// largestEffects lists the places of the largest effects, largest first.
func largestEffects(of sweep, title string, header []string, place func(row, column int) []any) *figure.Table {
	type effect struct {
		row, column int
		value       float64
	}
	var effects []effect
	for i, row := range of.effects.Effect {
		for j, v := range row {
			effects = append(effects, effect{i, j, v})
		}
	}
	slices.SortStableFunc(effects, func(x, y effect) int { return cmp.Compare(math.Abs(y.value), math.Abs(x.value)) })
	t := &figure.Table{Title: title + ": the largest", Header: append(header, "effect"), Align: strings.Repeat("l", len(header)) + "r"}
	for _, e := range effects[:min(of.top, len(effects))] {
		t.Row(append(place(e.row, e.column), e.value)...)
	}
	return t
}
